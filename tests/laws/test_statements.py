"""What Chatterjee & Ruina 1998 say about laws of impact (sections 3-5), law by law."""

import cases
import catalogue
import numpy as np
import pytest
from catalogue import Entry

import jimpact

ROUND = 1e-9
FOLLOWED = ("stronge", "poisson")
KINEMATIC = ("newton", "chatterjee_ruina", "whittaker", "smith")


def planar(tangential, coupling, normal, v, mu, e):
    W = [[tangential, 0, coupling], [0, tangential, 0], [coupling, 0, normal]]
    return cases.make(W, v, mu, e)


def plastic_impulses(given: cases.Cases) -> tuple[np.ndarray, np.ndarray]:
    """P_I, frictionless, and P_II, sticking; both without rebound: equations (3) and (4)."""
    frictionless = np.zeros_like(given.v)
    frictionless[:, 2] = -given.v[:, 2] / given.W[:, 2, 2]
    return frictionless, -np.linalg.solve(given.W, given.v[..., None])[..., 0]


# --- grazing (section 3.4, fig 6) -----------------------------------------------------------------------------

# Slip presses the bodies together: d.s > 0 and mu d.s > w.
GRAZING = planar(3.0, 1.5, 1.0, [1.0, 0, -1e-9], 1.0, 0.6)


@pytest.mark.parametrize("law", FOLLOWED)
def test_grazing_slip_can_rebound(law):
    """Section 4.2.1: of the laws discussed only Routh's separates after a grazing start."""
    assert catalogue.solve(GRAZING, Entry(law)).velocity[0, 2] > 0.1


@pytest.mark.parametrize("law", KINEMATIC)
def test_kinematic_restitution_has_no_rebound_from_grazing(law):
    assert abs(catalogue.solve(GRAZING, Entry(law)).velocity[0, 2]) < 1e-8


def test_grazing_can_reverse_slip():
    """Section 5.2: the new law predicts a tangential rebound there, Routh's does not."""
    reversed_ = catalogue.solve(GRAZING, Entry("chatterjee_ruina")).velocity[0, 0]
    assert reversed_ < -0.1
    assert catalogue.solve(GRAZING, Entry("poisson")).velocity[0, 0] > -1e-8


def test_composite_rebounds_both_ways_from_grazing():
    """Section 5.3."""
    after = catalogue.solve(GRAZING, Entry("composite"), mixing=0.5, tangential_restitution=0.9).velocity[0]
    assert after[0] < -0.01 and after[2] > 0.05


# --- infinite friction (fig 7) --------------------------------------------------------------------------------


def test_infinite_friction_without_rebound_is_not_always_dead():
    """Where P_II pulls, e = 0 and infinite friction cannot stop the contact."""
    given = planar(3.0, -1.5, 1.0, [1.0, 0, -0.1], 1e5, 0.0)
    assert plastic_impulses(given)[1][0, 2] < 0
    for law in ("chatterjee_ruina", "whittaker", "poisson"):
        impact = catalogue.solve(given, Entry(law), tangential_restitution=0.0)
        assert impact.outcome[0] == jimpact.Outcome.OK
        assert impact.impulse[0, 2] > 0
        assert np.abs(impact.velocity[0]).max() > 0.1, law


@pytest.mark.parametrize("law", ["chatterjee_ruina", "whittaker", "poisson", "anitescu_potra"])
def test_infinite_friction_without_rebound_is_dead_where_it_can_be(law):
    given = planar(3.0, 1.5, 1.0, [1.0, 0, -0.5], 1e5, 0.0)
    impact = catalogue.solve(given, Entry(law), tangential_restitution=0.0)
    np.testing.assert_allclose(impact.impulse, plastic_impulses(given)[1], rtol=1e-6)


# --- one mass without bound: a hinge (fig 8) ------------------------------------------------------------------


def hinged(mass: float, e: float) -> cases.Cases:
    """Inverse inertia with an eigenvalue 1/mass along a pendulum rod that leans; motion across the rod."""
    along, across = np.array([np.sin(0.4), 0, np.cos(0.4)]), np.array([np.cos(0.4), 0, -np.sin(0.4)])
    W = np.outer(across, across) + np.outer(along, along) / mass + np.diag([0, 1.0, 0])
    return cases.make(W, across, 2.0 / np.tan(0.4), e)


def test_hinge_limit_of_the_new_law_exists():
    """Section 5.2: reasonable for a constrained problem. The impulse converges as the hinge gets heavy."""
    impulses = [catalogue.solve(hinged(m, 0.5), Entry("chatterjee_ruina")).velocity[0] for m in (1e4, 1e6, 1e8)]
    assert np.abs(impulses[2] - impulses[1]).max() < 1e-3
    along = np.array([np.sin(0.4), 0, np.cos(0.4)])
    assert abs(impulses[2] @ along) < 1e-3  # the hinge holds


def test_hinge_limit_gains_energy_without_bound_in_whittakers_law():
    ratio = []
    for m in (1e2, 1e4, 1e6):
        given = hinged(m, 0.5)
        impact = catalogue.solve(given, Entry("whittaker"))
        ratio.append(float(catalogue.contact_energy(given, impact.velocity)[0] / catalogue.contact_energy(given)[0]))
    assert ratio[0] > 1 and ratio[1] > 50 * ratio[0] and ratio[2] > 50 * ratio[1]


def test_hinge_with_much_friction_is_dead_in_rouths_law():
    impact = catalogue.solve(hinged(1e6, 0.5), Entry("poisson"))
    assert np.abs(impact.velocity[0]).max() < 1e-3


# --- spheres (sections 4.2.5 and 5) ---------------------------------------------------------------------------

NEARLY_NORMAL = cases.make(np.diag([3.5, 3.5, 1.0]), [0.05, 0, -1.0], 0.4, 0.8)
OBLIQUE = cases.make(np.diag([3.5, 3.5, 1.0]), [9.0, 0, -1.0], 0.4, 0.8)


@pytest.mark.parametrize("law", ["chatterjee_ruina", "bilinear", "smith", "composite"])
def test_slip_of_a_sphere_can_be_reversed(law):
    assert catalogue.solve(NEARLY_NORMAL, Entry(law), tangential_restitution=0.6).velocity[0, 0] < -1e-3


@pytest.mark.parametrize("law", ["stronge", "poisson", "newton", "whittaker", "anitescu_potra", "sun_baruh"])
def test_slip_of_a_sphere_is_not_reversed(law):
    assert catalogue.solve(NEARLY_NORMAL, Entry(law)).velocity[0, 0] > -1e-12


@pytest.mark.parametrize("law", list(jimpact.LAWS))
def test_slip_of_an_oblique_sphere_is_not_reversed(law):
    after = catalogue.solve(OBLIQUE, Entry(law), tangential_restitution=0.6).velocity[0, 0]
    assert after == pytest.approx(9.0 - 3.5 * 0.4 * 1.8, rel=1e-7)


# --- the permissible region (sections 3.2, 4.1, 5) ------------------------------------------------------------


def test_corners_of_the_new_law():
    """Section 5.1: with friction that never limits, e and e_t of the corners give P_I, 2 P_I, 2 P_II, 2 P_II - P_I."""
    given = cases.make(cases.JIA_WANG_W, [0.2, -0.1, -1.0], 1e6, 0.0)
    one, two = plastic_impulses(given)
    for e, e_t, expected in ((0, -1, one), (1, -1, 2 * one), (1, 1, 2 * two), (0, 1, 2 * two - one)):
        impulse = catalogue.solve(
            given._replace(e=np.array([e])), Entry("chatterjee_ruina"), tangential_restitution=e_t
        )
        np.testing.assert_allclose(impulse.impulse, expected, rtol=ROUND, atol=ROUND)


def test_the_new_law_covers_an_area_of_the_permissible_region():
    """Two parameters reach a two-dimensional set, in the plane of P_I and P_II, all of it permissible."""
    e, e_t = (a.ravel() for a in np.meshgrid(np.linspace(0, 1, 20), np.linspace(-1, 1, 20)))
    given = cases.make(cases.JIA_WANG_W, [0.2, -0.1, -1.0], 0.5, e)
    impulse = catalogue.solve(given, Entry("chatterjee_ruina"), tangential_restitution=e_t).impulse
    margins = jimpact.permissible(given.W, given.v, impulse, given.mu)
    assert all((np.asarray(m) >= -1e-12).all() for m in margins)
    spread = np.linalg.svd(impulse - impulse.mean(0), compute_uv=False)
    assert spread[1] > 1e-2 * spread[0] and spread[2] < 1e-10 * spread[0]


@pytest.mark.parametrize(
    "entry", [Entry("chatterjee_ruina"), Entry("smith"), Entry("poisson"), Entry("stronge")], ids=str
)
def test_laws_that_stay_in_the_permissible_region(entry):
    given = cases.join(cases.spd(250, 71), cases.wild(200, 72))
    impulse = catalogue.solve(given, entry).impulse
    size = np.linalg.norm(impulse, axis=-1)
    margins = jimpact.permissible(given.W, given.v, impulse, given.mu)
    scale = {"dissipation": catalogue.contact_energy(given), "friction": (1 + given.mu) * size}
    for name, margin in margins._asdict().items():
        slack = 2e-7 * scale.get(name, size + np.abs(given.v).max(-1))
        cases.check(np.asarray(margin) < -slack, str(entry), given, name, np.asarray(margin))


def test_whittaker_is_routh_for_spheres_only():
    """The print says "for diagonal M"; it takes equal tangential entries, or slip along an axis."""
    spheres = catalogue.spheres(100)
    routh, whittaker = (catalogue.solve(spheres, Entry(law)).impulse for law in ("poisson", "whittaker"))
    np.testing.assert_allclose(whittaker, routh, rtol=1e-7, atol=1e-9)
    diagonal = cases.make(np.diag([4.0, 1.0, 1.0]), [1.0, 1.0, -1.0], 0.3, 0.5)
    routh, whittaker = (catalogue.solve(diagonal, Entry(law)).impulse[0] for law in ("poisson", "whittaker"))
    assert np.abs(routh - whittaker).max() > 0.01


# --- equations that laws solve --------------------------------------------------------------------------------


def test_smith_solves_equation_8():
    given = cases.join(cases.spd(200, 81), cases.wild(200, 82))
    impact = catalogue.solve(given, Entry("smith"))
    before, after, p = given.v[:, :2], impact.velocity[:, :2], impact.impulse[:, 2]
    weight = np.linalg.norm(before, axis=1, keepdims=True), np.linalg.norm(after, axis=1, keepdims=True)
    q = (before * weight[0] + after * weight[1]) / (weight[0] ** 2 + weight[1] ** 2)
    error = np.abs(impact.impulse[:, :2] + (given.mu * p)[:, None] * q).max(1) / np.linalg.norm(impact.impulse, axis=1)
    cases.check(~(error < 1e-8), "smith", given, "friction", error)
    size = np.abs(given.v[:, 2]) + np.linalg.norm(given.W[:, 2], axis=1) * np.linalg.norm(impact.impulse, axis=1)
    error = np.abs(impact.velocity[:, 2] + given.e * given.v[:, 2]) / size
    cases.check(~(error < 1e-12), "smith", given, "normal velocity", error)
    assert (p > 0).all()


def first_root_of_smith(W, v, mu, e):
    """Smith's normal impulse by a slow march from zero, with plain iterations of the slip after."""
    p, after, step = 0.0, v[:2].copy(), 2e-3
    while True:
        p += step
        for _ in range(60):
            weight = np.linalg.norm(v[:2]), np.linalg.norm(after)
            q = (v[:2] * weight[0] + after * weight[1]) / (weight[0] ** 2 + weight[1] ** 2)
            after = 0.8 * after + 0.2 * (v[:2] + p * (W[:2, 2] - mu * W[:2, :2] @ q))
        if v[2] + p * (W[2, 2] - mu * W[2, :2] @ q) >= -e * v[2]:
            return p


@pytest.mark.slow
def test_smith_takes_the_first_root():
    given = cases.two_body(3, 83)
    impulse = catalogue.solve(given, Entry("smith")).impulse
    expected = [first_root_of_smith(*(a[i] for a in given[:4])) for i in range(3)]
    np.testing.assert_allclose(impulse[:, 2], expected, atol=4e-3)


def angles_of_whittaker(W, v, mu, e):
    """All directions of the slip after that friction may oppose, by a scan of the circle."""
    angle = np.linspace(-np.pi, np.pi, 40_001)
    s = np.stack([np.cos(angle), np.sin(angle)], -1)
    a, k = -(1 + e) * v[2], W[2, 2] - mu * s @ W[:2, 2]
    after = v[:2] + (a / k)[:, None] * (W[:2, 2] - mu * s @ W[:2, :2])
    across, along = s[:, 0] * after[:, 1] - s[:, 1] * after[:, 0], (s * after).sum(-1)
    change = np.sign(across[1:]) != np.sign(across[:-1])
    found = np.flatnonzero(change & (along[1:] >= 0) & (k[1:] > 0) & (k[:-1] > 0))
    return angle[found], v[:2] + a / W[2, 2] * W[:2, 2]


def test_whittaker_opposes_the_closest_slip():
    given = cases.join(cases.spd(80, 91), cases.wild(80, 92))
    impact = catalogue.solve(given, Entry("whittaker"))
    slides = np.linalg.norm(impact.velocity[:, :2], axis=1) > 1e-6
    several = 0
    for i in np.flatnonzero(slides & (impact.outcome == jimpact.Outcome.OK)):
        angles, frictionless = angles_of_whittaker(*(a[i] for a in given[:4]))
        several += len(angles) > 1
        away = np.abs(np.angle(np.exp(1j * (angles - np.arctan2(frictionless[1], frictionless[0])))))
        best = angles[np.argmin(away)]
        got = np.arctan2(impact.velocity[i, 1], impact.velocity[i, 0])
        assert abs(np.angle(np.exp(1j * (got - best)))) < 1e-3, given.describe(i)
    assert slides.sum() > 30


def test_anitescu_potra_obeys_its_two_stages():
    """Compression is Whittaker's without rebound; expansion adds at least e times its normal impulse."""
    given = cases.join(cases.spd(200, 95), cases.wild(200, 96))
    impact = catalogue.solve(given, Entry("anitescu_potra"))
    plastic = catalogue.solve(given._replace(e=0 * given.e), Entry("whittaker")).impulse
    more = impact.impulse - plastic
    np.testing.assert_allclose(impact.info.compression_impulse, plastic[:, 2], rtol=1e-9)
    expanded = more[:, 2] / plastic[:, 2]
    cases.check(expanded < given.e - 1e-9, "anitescu_potra", given, "expansion", expanded)
    grown = expanded > given.e + 1e-9
    assert (np.abs(impact.velocity[grown, 2]) < 1e-8).all()
    friction, after = more[:, :2], impact.velocity[:, :2]
    slides = np.linalg.norm(after, axis=1) > 1e-6
    opposed = -given.mu[:, None] * more[:, 2:] * after / np.linalg.norm(after, axis=1, keepdims=True)
    error = np.abs(friction - opposed).max(1) / np.linalg.norm(impact.impulse, axis=1)
    cases.check(slides & (error > 1e-7), "anitescu_potra", given, "friction of expansion", error)
