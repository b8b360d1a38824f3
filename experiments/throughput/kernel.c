/* Impacts with friction, law stronge, by the method of jimpact, written by hand for one core's vector unit.

   Power series of ORDER in the regularised clock, steps that end at events, the end in closed form: docs/method.md.
   LANES impacts step together until all of a group rest. Values only: no derivatives, no ledger of friction, no marks.
   Scaled units inside: the normal entry of the inverse inertia is 1, and the approach speed is 1. */

#include <pthread.h>
#include <stdint.h>

#ifndef ORDER
#define ORDER 12
#endif
#define LANES 4
#define CHUNK 64   /* groups that a thread takes at once */
#define THREADS 64 /* at most */
#define EACH(i) for (int i = 0; i < LANES; i++)
#define UNROLL _Pragma("GCC unroll 32")
#define INLINE static inline __attribute__((always_inline))

typedef double D __attribute__((vector_size(8 * LANES)));
typedef int64_t M __attribute__((vector_size(8 * LANES))); /* a mask: all bits of a lane, or none */

static const double EPS = 2.220446049250313e-16, FAR = 1e300;
static const double LANDED = 64, CONVERGED = 4096, FLAT = 64, TRUST = 1e-4, SLOWEST = 1e-3, NOISE = 8;
static const double SENSITIVE = 0.1, STRAIGHT = 0.1, FAINT = 0.5, LARGEST_EXTRA = 1e-2, LARGEST_TURN = 0.1, TRUSTED = 1e3;

INLINE D all(double a) { return (D){0} + a; }
INLINE D pick(M m, D a, D b) {
#if defined(__AVX__) && LANES == 4
    return __builtin_ia32_blendvpd256(b, a, (D)m);
#else
    return (D)(((M)a & m) | ((M)b & ~m));
#endif
}
INLINE D keep(M m, D a) { return (D)((M)a & m); } /* a, or 0 */
INLINE int any(M m) {
#if defined(__AVX__) && LANES == 4
    return __builtin_ia32_movmskpd256((D)m) != 0;
#else
    int64_t bits = 0;
    EACH(i) bits |= m[i];
    return bits != 0;
#endif
}
INLINE D least(D a, D b) { return pick(a < b, a, b); }
INLINE D most(D a, D b) { return pick(a > b, a, b); }
INLINE D size(D a) { return (D)((M)a & INT64_MAX); }
INLINE D root(D a) { /* 0 where a <= 0 */
    D r = keep(a > 0, a);
#if defined(__AVX__) && LANES == 4
    return __builtin_ia32_sqrtpd256(r);
#else
    EACH(i) r[i] = __builtin_sqrt(r[i]);
    return r;
#endif
}
INLINE D over(D a, D b) { return keep(b != 0, a / pick(b == 0, all(1), b)); } /* 0 where b = 0 */

/* a^(1/n) to five digits for a > 0: log2 and exp2 by their mantissas. */
INLINE D root_estimate(D a, int n) {
    a = least(most(a, all(1e-30)), all(1e30));
    M bits = (M)a;
    D m = (D)((bits & 0xFFFFFFFFFFFFFLL) | 0x3FF0000000000000LL);
    D e = (D)((bits >> 52) | 0x4330000000000000LL) - (4503599627370496.0 + 1023); /* the exponent, as a number */
    D z = (m - 1.41421356237) / (m + 1.41421356237), q = z * z;
    D log2 = 0.5 + z * (2.88539008 + q * (0.96179669 + q * (0.57707802 + q * 0.41219858)));
    D t = (e + log2) / n;
    D up = t + 6755399441055744.0; /* 1.5 x 2^52: the sum is rounded to a whole number in its last bits */
    D f = t - (up - 6755399441055744.0);
    D exp2 = 1 + f * (0.69314718 + f * (0.24022651 + f * (0.05550411 + f * (0.00961813 + f * 0.00133336))));
    return (D)((M)exp2 + ((M)up << 52));
}

typedef struct { D bxx, bxy, byy, dx, dy, mu; } Plane;
typedef struct { D impulse, compression, lost, back; M compressing; } Books; /* works: lost <= 0, back >= 0 */
typedef struct { Plane plane; D x0, y0, e, rate; M bends; } Lane; /* bends: k = dv/dp may change sign */
typedef struct { D ix, iy, bound, waited, memory; Books books; M resting, straight; } State;
typedef struct { D X[ORDER + 1], Y[ORDER + 1], R[ORDER + 1], P[ORDER + 1], IX[ORDER + 1], IY[ORDER + 1], V[ORDER + 1]; } Series;

INLINE void velocity(const Lane *l, D ix, D iy, D p, D *x, D *y, D *v) {
    const Plane *q = &l->plane;
    *x = l->x0 + q->dx * p + q->bxx * ix + q->bxy * iy;
    *y = l->y0 + q->dy * p + q->bxy * ix + q->byy * iy;
    *v = -1 + p + q->dx * ix + q->dy * iy;
}
INLINE D normal_rate(const Plane *q, D sx, D sy) { return 1 - q->mu * (q->dx * sx + q->dy * sy); }
INLINE void rates(const Plane *q, D sx, D sy, D *g, D *h) {
    D fx = q->dx - q->mu * (q->bxx * sx + q->bxy * sy), fy = q->dy - q->mu * (q->bxy * sx + q->byy * sy);
    *g = sx * fx + sy * fy;
    *h = sx * fy - sy * fx;
}
INLINE void slopes(const Plane *q, D sx, D sy, D *dg, D *dh, D *tBt, D *tBs) {
    D sBs = q->bxx * sx * sx + 2 * q->bxy * sx * sy + q->byy * sy * sy;
    *tBs = (q->byy - q->bxx) * sx * sy + q->bxy * (sx * sx - sy * sy);
    *tBt = q->bxx + q->byy - sBs;
    *dg = q->dy * sx - q->dx * sy - 2 * q->mu * *tBs;
    *dh = -(q->dx * sx + q->dy * sy) - q->mu * (*tBt - sBs);
}
INLINE void solve_b(const Plane *q, D x, D y, D *a, D *b) {
    D det = q->bxx * q->byy - q->bxy * q->bxy;
    *a = (q->byy * x - q->bxy * y) / det;
    *b = (q->bxx * y - q->bxy * x) / det;
}

/* ------------------------------------------------------------------------------------------------- the series */

INLINE D square(const D *C, int n, int known) { /* coefficient n of C^2; term n counts as 0 if not known */
    D total = known ? 2 * C[0] * C[n] : all(0);
    UNROLL for (int j = 1; j < (n + 1) / 2; j++) total += 2 * C[j] * C[n - j];
    return n % 2 ? total : total + C[n / 2] * C[n / 2];
}
INLINE void expand(const Plane *q, D x, D y, D v, D unit, Series *s) {
    D r = root(x * x + y * y), half = 0.5 / r;
    s->X[0] = x, s->Y[0] = y, s->R[0] = r, s->V[0] = v;
    s->P[0] = s->IX[0] = s->IY[0] = all(0);
    UNROLL for (int n = 1; n <= ORDER; n++) {
        D p = s->P[n] = s->R[n - 1] * (unit * (1.0 / n)), t = -q->mu * unit * (1.0 / n);
        D a = s->IX[n] = s->X[n - 1] * t, b = s->IY[n] = s->Y[n - 1] * t;
        s->X[n] = q->dx * p + q->bxx * a + q->bxy * b;
        s->Y[n] = q->dy * p + q->bxy * a + q->byy * b;
        s->V[n] = p + q->dx * a + q->dy * b;
        s->R[n] = (square(s->X, n, 1) + square(s->Y, n, 1) - square(s->R, n, 0)) * half;
    }
}
INLINE D work_term(const Series *s, int n) { /* coefficient n of the integral of v dp */
    D total = all(0);
    UNROLL for (int j = n > ORDER ? n - ORDER : 1; j <= (n < ORDER ? n : ORDER); j++) total += s->V[n - j] * s->P[j] * j;
    return total * (1.0 / n);
}
INLINE D horner(const D *c, D t) {
    D value = c[ORDER];
    UNROLL for (int n = ORDER - 1; n >= 0; n--) value = value * t + c[n];
    return value;
}

/* -------------------------------------------------------------------------------------------------- one step */

/* A root in [0, end] of a polynomial that rises there: Newton's method kept in its bracket, or else a chord. */
static D root_in(const D *c, D end, D guess, D tolerance) {
    D low = all(0), high = end, at_low = c[0], slack = 4 * EPS * end, t = pick(guess >= 0, least(guess, end), 0.5 * end);
    for (int k = 0; k < 5; k++) {
        D value = c[ORDER], slope = all(0);
        UNROLL for (int n = ORDER - 1; n >= 0; n--) slope = slope * t + value, value = value * t + c[n];
        M below = value < 0;
        low = pick(below, t, low), at_low = pick(below, value, at_low), high = pick(below, high, t);
        D newton = t - value / pick(slope == 0, all(1), slope);
        M inside = (newton >= low - slack) & (newton <= high + slack);
        t = pick(inside, least(most(newton, low), high), 0.5 * (low + high));
    }
    D value = horner(c, t);
    M far = value > tolerance;
    return pick(far, low - at_low * (t - low) / pick(far, value - at_low, all(1)), t);
}
INLINE D distance(D missing, D v, D k, const Books *b, D e) { /* normal impulse to the stop if k stays */
    M fresh = (v == 0) & (b->back == 0) & (k > 0);
    D from_rest = e * root(keep(fresh, over(-2 * b->lost, k))), reachable = v * v + 2 * k * missing;
    D both = v + root(pick(fresh, all(0), reachable));
    D x = keep(both > 0, 2 * missing / pick(both > 0, both, all(1)));
    return pick(fresh, from_rest, pick(reachable < 0, all(FAR), x));
}
INLINE void next_flat(const Plane *q, D turning, M falling, D *tx, D *ty) {
    D length = root(q->dx * q->dx + q->dy * q->dy), ex = over(q->dx, length), ey = over(q->dy, length);
    D cosine = over(all(1), q->mu * length), sine = root(1 - cosine * cosine) * turning * pick(falling, all(1), all(-1));
    *tx = cosine * ex - sine * ey;
    *ty = cosine * ey + sine * ex;
}
INLINE D reach_of(const Lane *l, const Series *s, D last_work, D unit, D reference, double tolerance) {
    D admitted = least(TRUST * s->R[0], tolerance * reference / (unit * most(all(1), l->plane.mu)));
    D energy = reference * most(all(1), size(s->V[0]));
    D a = size(last_work), reach = root_estimate(pick(a == 0, all(1e30), tolerance * energy / a), ORDER);
    UNROLL for (int n = ORDER - 1; n <= ORDER; n++) {
        D b = root(s->X[n] * s->X[n] + s->Y[n] * s->Y[n] + s->R[n] * s->R[n]);
        reach = least(reach, root_estimate(pick(b == 0, all(1e30), admitted / b), n));
    }
    return reach;
}
/* Length of the next step; if negative, do not move, but bound the next step by its size. */
INLINE D measure(const Lane *l, const State *a, const Series *s, const D *work, D unit, D reference, double tolerance) {
    const Plane *q = &l->plane;
    const Books *b = &a->books;
    D reach = least(reach_of(l, s, work[ORDER], unit, reference, tolerance), a->bound);
    D target = l->e * l->e * -b->lost, F[ORDER + 1], G[ORDER + 1] = {{0}};
    D k = normal_rate(q, s->X[0] / s->R[0], s->Y[0] / s->R[0]);
    UNROLL for (int n = 0; n <= ORDER; n++) F[n] = pick(b->compressing, s->V[n], work[n]);
    F[0] = pick(b->compressing, s->V[0], b->back - target);
    D stop = b->back - target;
    M flat = (M){0}, ends = horner(F, reach) >= 0;
    if (any(l->bends)) {
        D turning = s->X[0] * s->Y[1] - s->Y[0] * s->X[1], tx, ty;
        turning = pick(turning > 0, all(1), pick(turning < 0, all(-1), all(0)));
        next_flat(q, turning, k < 0, &tx, &ty);
        D terms = root(l->x0 * l->x0 + l->y0 * l->y0) + l->rate * b->impulse;
        M close = size(tx * s->Y[0] - ty * s->X[0]) <= FLAT * EPS * terms;
        next_flat(q, turning, (k < 0) ^ close, &tx, &ty);
        UNROLL for (int n = 0; n <= ORDER; n++) G[n] = turning * (tx * s->Y[n] - ty * s->X[n]);
        flat = l->bends & (a->waited < 1) & (G[0] < 0) & (horner(G, reach) > 0);
    }
    M fall = (a->waited < 2) & ~b->compressing & (horner(s->V, reach) < 0) & ~flat, bounding = flat | fall;
    if (!any((ends | bounding) & ~a->resting)) return pick(a->resting, all(0), reach);
    D E[ORDER + 1];
    UNROLL for (int n = 0; n <= ORDER; n++) E[n] = F[n];
    if (any(bounding)) UNROLL for (int n = 0; n <= ORDER; n++) F[n] = pick(flat, G[n], pick(fall, -s->V[n], F[n]));
    D scale = pick(flat, s->R[0], pick(b->compressing | fall, 1 + size(s->V[0]), target));
    D x = pick(b->compressing, pick(k > 0, over(-s->V[0], k), all(FAR)), distance(-stop, s->V[0], k, b, l->e));
    D ratio = x / (s->R[0] * unit);
    D guess = pick(bounding, 0.5 * reach, ratio / most(1 + 0.5 * s->R[1] / s->R[0] * ratio, all(0.1)));
    D t = root_in(F, reach, guess, CONVERGED * EPS * scale);
    if (any(bounding)) {
        t = pick(flat, t * (1 + 1.4901161193847656e-8), t); /* the next step starts just past it */
        ends = pick(bounding, horner(E, t), pick(ends, all(1), all(-1))) >= 0;
    }
    M hides = ends | (flat & ~b->compressing & (horner(s->V, t) < 0));
    D length = pick(bounding, pick(hides, -t, t), pick(ends, t, reach));
    return pick(a->resting, all(0), length);
}
INLINE Books booked(Books b, D p, D work) {
    b.impulse += p;
    b.compression += keep(b.compressing, p);
    b.lost += keep(b.compressing, work);
    b.back += keep(~b.compressing, work);
    return b;
}
/* What the straight line along the invariant direction ahead neglects, by its three causes. */
INLINE void line_errors(const Plane *q, D rate, D sx, D sy, D r, D impulse, D change, D *bend, D *push, D *late) {
    D g, h, dg, dh, tBt, tBs;
    rates(q, sx, sy, &g, &h);
    slopes(q, sx, sy, &dg, &dh, &tBt, &tBs);
    M ahead = (dh < 0) & (size(h) <= LARGEST_TURN * -dh);
    D slope = pick(ahead, -dh, all(1)), turn = size(h) / slope;
    g = most(g, g + dg * h / slope);
    M falls = g < 0;
    D length = pick(falls, r / pick(falls, -g, all(1)), impulse), across = most(turn * r, change);
    *bend = turn * across / r * (1 + rate / slope) * most(q->mu, all(1));
    *bend = pick(ahead, *bend * least(length / impulse, all(1)), all(FAR));
    *push = across / (tBt * impulse);
    D coupling = size(q->dy * sx - q->dx * sy);
    *late = *push * coupling * pick(falls, r / (q->mu * tBt - least(g, all(0))), all(FAR));
}
/* Change phase, or come to rest, where an event was reached. */
INLINE void arrive(const Lane *l, State *a, M waits, double tolerance) {
    const Plane *q = &l->plane;
    Books *b = &a->books;
    D x, y, v, g, h, bend, push, late;
    velocity(l, a->ix, a->iy, b->impulse, &x, &y, &v);
    D r = pick(a->resting, all(1), root(x * x + y * y)), sx = over(x, r), sy = over(y, r), k = normal_rate(q, sx, sy);
    M live = ~a->resting & ~waits;
    D near = LANDED * EPS * (1 + b->impulse), target = l->e * l->e * -b->lost, missing = target - b->back;
    M compressed = b->compressing & (v >= -near) & (k > 0);
    M stop = ~b->compressing & (missing <= LANDED * EPS * target + near * (b->impulse - b->compression));
    M falls = ~b->compressing & ~stop & (v <= near) & (k < 0);
    M last = compressed & (l->e * l->e <= 0.01 * EPS);
    rates(q, sx, sy, &g, &h);
    D reference = most(b->impulse, all(1)), terms = root(l->x0 * l->x0 + l->y0 * l->y0) + l->rate * b->impulse;
    M faint = (r < -g * FAINT * tolerance * reference) | (r <= NOISE * EPS * terms);
    D to_rest = pick(v * k < 0, over(-v, k), all(FAR));
    D to_stop = pick(b->compressing, all(FAR), distance(missing, v, k, b, l->e));
    M undisturbed = r < -g * least(to_rest, to_stop);
    line_errors(q, l->rate, sx, sy, r, reference, SENSITIVE * a->memory, &bend, &push, &late);
    M line = (push <= tolerance) | (undisturbed & (late <= STRAIGHT * tolerance * most(all(1), size(v))));
    M straight = live & (bend <= STRAIGHT * tolerance) & line & ~(compressed | stop | falls | faint);
    M changes = live & ((compressed & ~last) | falls);
    D extra = keep(changes & (size(v) <= LARGEST_EXTRA * size(k) * b->impulse), over(v, k)), work = 0.5 * v * extra;
    D sign = pick(b->compressing, all(-1), all(1));
    b->compression += sign * extra;
    b->lost += sign * work;
    b->back -= sign * work;
    b->compressing ^= changes;
    a->resting |= live & (stop | last | straight | faint);
    a->straight |= straight;
}
INLINE void step(const Lane *l, State *a, double tolerance) {
    Series s;
    D x, y, v, work[ORDER + 1];
    velocity(l, a->ix, a->iy, a->books.impulse, &x, &y, &v);
    x = pick(a->resting, all(1), x), y = keep(~a->resting, y);
    D r = root(x * x + y * y), reference = most(a->books.impulse, all(1)), unit = 1 / (l->rate + SLOWEST * r / reference);
    expand(&l->plane, x, y, v, unit, &s);
    work[0] = all(0);
    UNROLL for (int n = 1; n <= ORDER; n++) work[n] = work_term(&s, n);
    D length = measure(l, a, &s, work, unit, reference, tolerance), t = most(length, all(0));
    D done = all(0); /* the whole product, to the double order */
    UNROLL for (int n = 2 * ORDER; n > ORDER; n--) done = done * t + work_term(&s, n);
    UNROLL for (int n = ORDER; n >= 0; n--) done = done * t + work[n];
    D dg, dh, tBt, tBs;
    slopes(&l->plane, x / r, y / r, &dg, &dh, &tBt, &tBs);
    D c = l->plane.mu * tBt * unit * t;
    a->memory /= 1 + c * (1 + c / 2 * (1 + c / 3 * (1 + c / 4)));
    a->ix += horner(s.IX, t);
    a->iy += horner(s.IY, t);
    a->books = booked(a->books, horner(s.P, t), done);
    M waits = length < 0;
    arrive(l, a, waits, tolerance);
    a->bound = pick(waits, -length, all(FAR));
    a->waited = keep(waits, a->waited + 1);
}

/* ------------------------------------------------------------------------------------------ the end, in closed form */

INLINE D glide(D *v, Books *b, M *stopped, D k, D length, D e) { /* on with constant k, to the stop at most */
    M done = *stopped;
    D to_rest = pick(k == 0, all(FAR), over(-*v, k));
    M ends = ~done & b->compressing & (k > 0) & (to_rest <= length);
    D first = keep(ends, to_rest);
    *b = booked(*b, first, 0.5 * *v * first);
    b->compressing &= ~ends;
    *v = keep(~ends, *v);
    D left = length - first, missing = e * e * -b->lost - b->back, to_stop = distance(missing, *v, k, b, e);
    D to_fall = pick(~b->compressing & (k < 0), to_rest, all(FAR));
    M stop = ~done & ~b->compressing & (to_stop <= left) & (to_stop <= to_fall) & (to_stop < FAR / 2);
    M falls = ~done & ~stop & (to_fall < left);
    D second = pick(stop, to_stop, pick(falls, to_fall, left));
    second = keep(~done & (second < FAR / 2), second);
    *b = booked(*b, second, (*v + 0.5 * k * second) * second);
    *v = keep(~falls, *v + k * second);
    D third = keep(falls & (left < FAR / 2), left - second);
    b->compressing |= falls;
    *b = booked(*b, third, 0.5 * k * third * third);
    *v += k * third;
    *stopped = done | stop;
    return first + second + third;
}
static void diverging_ray(const Plane *q, M exists, D *sx, D *sy) {
    D fx = pick(exists, q->dx, all(1)), fy = keep(exists, q->dy), mu = keep(exists, q->mu);
    D a0 = mu * q->bxx, b0 = mu * q->bxy, d0 = mu * q->byy, length = root(fx * fx + fy * fy);
    D rate = pick(a0 == 0, length, most(length - a0 - d0, all(0)));
    for (int i = 0; i < 10; i++) {
        D a = rate + a0, d = rate + d0, det = a * d - b0 * b0;
        det = pick(det == 0, all(1), det);
        *sx = (d * fx - b0 * fy) / det, *sy = (a * fy - b0 * fx) / det;
        D tx = (d * *sx - b0 * *sy) / det, ty = (a * *sy - b0 * *sx) / det, n = *sx * *sx + *sy * *sy;
        rate += over((root(n) - 1) * n, *sx * tx + *sy * ty);
    }
}
/* Finish all lanes; the impulse goes into ix, iy and the books, whether it can be trusted comes back. */
static M finish(const Lane *l, State *a, double tolerance) {
    const Plane *q = &l->plane;
    D x, y, v, g, h, dg, dh, tBt, tBs, cx, cy, ux, uy;
    velocity(l, a->ix, a->iy, a->books.impulse, &x, &y, &v);
    M slips = (x != 0) | (y != 0), here = a->resting & ~a->straight, stopped = (M){0};
    x = pick(slips, x, all(1)), y = keep(slips, y);
    D r = root(x * x + y * y), sx = x / r, sy = y / r, none = 8 * EPS * l->rate;
    rates(q, sx, sy, &g, &h);
    slopes(q, sx, sy, &dg, &dh, &tBt, &tBs);
    M level = size(dh) <= none;
    D ahead = pick(level, pick(size(h) <= none, all(0), all(1)), -h / pick(level, all(1), dh));
    ahead = keep(~here, ahead);
    D turn = least(most(ahead, all(-LARGEST_TURN)), all(LARGEST_TURN)), u = turn * turn;
    D cosine = 1 - u / 2 * (1 - u / 12 * (1 - u / 30 * (1 - u / 56 * (1 - u / 90)))); /* to round-off for 0.1 rad */
    D sine = turn * (1 - u / 6 * (1 - u / 20 * (1 - u / 42 * (1 - u / 72))));
    D nx = sx * cosine - sy * sine, ny = sy * cosine + sx * sine;
    sx = nx, sy = ny;
    slopes(q, sx, sy, &dg, &dh, &tBt, &tBs);
    D push = over(r * sine, tBt);
    r = r * cosine + push * tBs;
    D ix = a->ix - push * sy, iy = a->iy + push * sx;
    v += push * (q->dy * sx - q->dx * sy);
    rates(q, sx, sy, &g, &h);
    D length = keep(slips, pick(g < 0, r / pick(g < 0, -g, all(1)), all(FAR)));
    Books *b = &a->books;
    D p1 = glide(&v, b, &stopped, normal_rate(q, sx, sy), length, l->e);
    ix -= q->mu * sx * p1, iy -= q->mu * sy * p1;

    solve_b(q, q->dx, q->dy, &ux, &uy);
    M sticks = ux * ux + uy * uy <= q->mu * q->mu, settles = ~stopped & (length < FAR / 2) & (sticks | slips);
    if (any(~stopped)) {
        velocity(l, ix, iy, b->impulse, &x, &y, &h);
        solve_b(q, -x, -y, &cx, &cy);
        cx = keep(settles, cx), cy = keep(settles, cy);
        v += q->dx * cx + q->dy * cy;
        D tx = ux, ty = uy;
        if (any(~sticks)) {
            diverging_ray(q, ~sticks, &x, &y);
            tx = pick(sticks, ux, q->mu * x), ty = pick(sticks, uy, q->mu * y);
        }
        D p2 = glide(&v, b, &stopped, 1 - q->dx * tx - q->dy * ty, all(FAR), l->e);
        ix += cx - tx * p2, iy += cy - ty * p2;
    }
    a->ix = ix, a->iy = iy;
    D p = b->impulse, off = least(size(ahead), all(1)), slack = all(TRUSTED * tolerance);
    D error = keep(slips, size(over(off * off * most(p1, size(push)), p)));
    M cone = root(ix * ix + iy * iy) <= q->mu * p * (1 + slack) + slack * p;
    return stopped & (error <= slack) & (p > 0) & (p < FAR) & (v >= -slack * (1 + p)) & cone;
}

/* ------------------------------------------------------------------------------------------------ all impacts */

typedef struct {
    int64_t n, next;
    const double *W, *v, *mu, *e;
    double *impulse, tolerance;
    int32_t *steps;
    uint8_t *ok;
    int fixed, most;
} Job;

static void group(Job *job, int64_t first) {
    Lane l;
    Plane *q = &l.plane;
    D speed, mass;
    EACH(i) { /* past the end, the last impact again */
        int64_t j = first + i < job->n ? first + i : job->n - 1;
        const double *W = job->W + 9 * j, *v = job->v + 3 * j;
        double s = speed[i] = -v[2], m = mass[i] = W[8];
        q->bxx[i] = W[0] / m, q->byy[i] = W[4] / m, q->bxy[i] = 0.5 * (W[1] + W[3]) / m;
        q->dx[i] = 0.5 * (W[2] + W[6]) / m, q->dy[i] = 0.5 * (W[5] + W[7]) / m;
        q->mu[i] = job->mu[j], l.e[i] = job->e[j], l.x0[i] = v[0] / s, l.y0[i] = v[1] / s;
    }
    D coupling = root(q->dx * q->dx + q->dy * q->dy);
    l.rate = coupling + q->mu * (q->bxx + q->byy);
    l.bends = q->mu * coupling > 1;
    State a = {.bound = all(FAR), .memory = all(1)};
    a.books.compressing = ~(M){0};
    a.resting = (l.x0 == 0) & (l.y0 == 0);
    M taken = (M){0};
    for (int i = 0; job->fixed ? i < job->fixed : i < job->most && any(~a.resting); i++) {
        taken -= ~a.resting;
        step(&l, &a, job->tolerance);
    }
    M good = finish(&l, &a, job->tolerance);
    EACH(i) if (first + i < job->n) {
        double unit = speed[i] / mass[i], *out = job->impulse + 3 * (first + i);
        out[0] = a.ix[i] * unit, out[1] = a.iy[i] * unit, out[2] = a.books.impulse[i] * unit;
        job->steps[first + i] = (int32_t)taken[i], job->ok[first + i] = good[i] != 0;
    }
}
static void *work(void *argument) {
    Job *job = argument;
    for (;;) {
        int64_t first = __atomic_fetch_add(&job->next, CHUNK * LANES, __ATOMIC_RELAXED);
        if (first >= job->n) return 0;
        for (int64_t i = first; i < first + CHUNK * LANES && i < job->n; i += LANES) group(job, i);
    }
}
/* Solve n impacts that approach. `fixed` > 0: so many steps for all; else until a group rests, at most `most`. */
void solve(int64_t n, const double *W, const double *v, const double *mu, const double *e, double *impulse, int32_t *steps,
           uint8_t *ok, double tolerance, int32_t fixed, int32_t most, int32_t threads) {
    Job job = {n, 0, W, v, mu, e, impulse, tolerance, steps, ok, fixed, most};
    pthread_t others[THREADS];
    int started = 0;
    int64_t chunks = (n + CHUNK * LANES - 1) / (CHUNK * LANES);
    while (started < threads - 1 && started < chunks - 1 && started < THREADS)
        if (pthread_create(&others[started], 0, work, &job)) break;
        else started++;
    work(&job);
    for (int i = 0; i < started; i++) pthread_join(others[i], 0);
}
