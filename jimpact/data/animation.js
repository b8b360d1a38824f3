"use strict";
// Draws what `scene` (set before this script) tells: bodies as triangles, planes as grids, at the times of its frames.
const canvas = document.getElementById("view"), pen = canvas.getContext("2d");
const slider = document.getElementById("time"), clock = document.getElementById("clock"), button = document.getElementById("play");
const pace = document.getElementById("pace");
const palette = [[209, 73, 91], [237, 174, 73], [42, 157, 143], [0, 121, 140], [244, 236, 222], [48, 99, 142]];
const light = unit([0.35, -0.5, 0.8]);
let azimuth = -0.9, height = 0.35, zoom = 1, now = 0, playing = true, before = null;

function dot(a, b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
function cross(a, b) { return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]; }
function add(a, b, s = 1) { return [a[0] + s * b[0], a[1] + s * b[1], a[2] + s * b[2]]; }
function unit(a) { const l = Math.sqrt(dot(a, a)); return [a[0] / l, a[1] / l, a[2] / l]; }
function turn(q, v) {
  const u = [q[1], q[2], q[3]], t = cross(u, v).map(x => 2 * x);
  return add(add(v, t, q[0]), cross(u, t));
}
function between(a, b, s) { return a.map((x, i) => x + s * (b[i] - x)); }

function frame(body, time) {
  const last = scene.times.length - 1;
  let i = Math.min(Math.floor(time / scene.step), last - 1);
  if (i < 0) i = 0;
  const s = Math.min(Math.max(time / scene.step - i, 0), 1);
  let q = body.orientation[i + 1];
  if (q.reduce((sum, x, k) => sum + x * body.orientation[i][k], 0) < 0) q = q.map(x => -x);
  const mixed = between(body.orientation[i], q, s), size = Math.sqrt(mixed.reduce((sum, x) => sum + x * x, 0));
  return { place: between(body.position[i], body.position[i + 1], s), q: mixed.map(x => x / size), index: i };
}

const side = unit(cross(scene.up, Math.abs(scene.up[0]) < 0.9 ? [1, 0, 0] : [0, 1, 0])), ahead = cross(scene.up, side);
// Begin on the side that walls are open to.
const open = scene.planes.reduce((sum, plane) => add(sum, plane.normal), [0, 0, 0]);
if (Math.hypot(dot(open, side), dot(open, ahead)) > 1e-6) azimuth = Math.atan2(dot(open, ahead), dot(open, side)) + 0.5;

function camera() {
  const up = scene.up;
  const flat = add(side.map(x => x * Math.cos(azimuth)), ahead, Math.sin(azimuth));
  const back = unit(add(flat.map(x => x * Math.cos(height)), up, Math.sin(height)));
  const right = unit(cross(up, back)), above = cross(back, right);
  const distance = 2.3 * scene.size / zoom, eye = add(scene.centre, back, distance);
  const scale = 1.15 * Math.min(canvas.width, canvas.height);
  return { eye, back, project: p => {
    const d = add(p, eye, -1), depth = -dot(d, back);
    return [canvas.width / 2 + scale * dot(d, right) / depth, canvas.height / 2 - scale * dot(d, above) / depth, depth];
  } };
}

function polygon(points, fill, stroke) {
  if (points.some(p => p[2] <= 0)) return;
  pen.beginPath();
  points.forEach((p, i) => i ? pen.lineTo(p[0], p[1]) : pen.moveTo(p[0], p[1]));
  pen.closePath();
  if (fill) { pen.fillStyle = fill; pen.fill(); }
  if (stroke) { pen.strokeStyle = stroke; pen.stroke(); }
}

function drawPlane(plane, view) {
  const facing = dot(add(view.eye, plane.corners[0], -1), plane.normal) > 0;
  pen.lineWidth = devicePixelRatio;
  const shade = 0.92 + 0.06 * dot(plane.normal, scene.up);
  polygon(plane.corners.map(view.project), facing ? `rgb(${[238, 243, 247].map(x => Math.round(x * shade)).join(",")})` : null, "#b9c5d0");
  if (facing) plane.lines.filter(line => line.length === 2).forEach(line => polygon(line.map(view.project), null, "#d3dce4"));
}

function drawShadows(meshes, view) {
  const grounds = scene.planes.filter(plane => dot(plane.normal, scene.up) > 0.3);
  const drop = (p, plane) => add(p, scene.up, -(dot(p, plane.normal) - plane.offset) / dot(plane.normal, scene.up));
  for (const mesh of meshes) for (const face of mesh) {
    // On the first ground below.
    const height = plane => dot(add(face.points[0], drop(face.points[0], plane), -1), scene.up);
    const below = grounds.filter(plane => height(plane) > -1e-6).sort((a, b) => height(a) - height(b))[0];
    if (below) polygon(face.points.map(p => drop(p, below)).map(view.project), "#c3ced8", "#c3ced8");
  }
}

function drawBody(mesh, view) {
  const faces = mesh.filter(face => dot(face.normal, add(view.eye, face.points[0], -1)) > 0);
  faces.forEach(face => { face.seen = face.points.map(view.project); face.depth = Math.max(...face.seen.map(p => p[2])); });
  faces.sort((a, b) => b.depth - a.depth);
  pen.lineWidth = 0.7;
  for (const face of faces) {
    const shade = 0.72 + 0.28 * Math.max(0, dot(face.normal, light));
    const colour = `rgb(${face.colour.map(x => Math.round(x * shade)).join(",")})`;
    polygon(face.seen, colour, colour);
  }
}

function meshOf(body, time) {
  const { place, q } = frame(body, time);
  return body.faces.map(face => ({
    points: face.map(k => add(place, turn(q, body.points[k]))),
    normal: turn(q, body.normals[body.faces.indexOf(face)]),
    colour: palette[body.colours[body.faces.indexOf(face)]],
  }));
}

function draw() {
  const wide = canvas.clientWidth * devicePixelRatio, tall = canvas.clientHeight * devicePixelRatio;
  if (canvas.width !== wide || canvas.height !== tall) { canvas.width = wide; canvas.height = tall; }
  pen.clearRect(0, 0, canvas.width, canvas.height);
  pen.lineJoin = "round";
  const view = camera();
  scene.planes.forEach(plane => drawPlane(plane, view));
  const meshes = scene.bodies.map(body => meshOf(body, now));
  drawShadows(meshes, view);
  pen.lineWidth = 1.5 * devicePixelRatio;
  for (const body of scene.bodies) {
    const end = frame(body, now).index;
    for (let i = Math.max(0, end - 240); i < end; i++)
      polygon([body.position[i], body.position[i + 1]].map(view.project), null, `rgba(48,99,142,${0.5 * (1 - (end - i) / 240)})`);
  }
  for (const hit of scene.hits) {
    if (hit.time > now) continue;
    const [x, y, depth] = view.project(hit.point), age = now - hit.time, r = 3 * devicePixelRatio * (1 + 3 * Math.exp(-12 * age));
    if (depth <= 0) continue;
    pen.beginPath(); pen.arc(x, y, r, 0, 7);
    pen.strokeStyle = `rgba(209,73,91,${0.25 + 0.75 * Math.exp(-4 * age)})`; pen.stroke();
  }
  meshes.map(mesh => ({ mesh, depth: view.project(mesh[0].points[0])[2] })).sort((a, b) => b.depth - a.depth)
    .forEach(one => drawBody(one.mesh, view));
  slider.value = now;
  clock.textContent = `${now.toFixed(2)} s, impact ${scene.hits.filter(hit => hit.time <= now).length} of ${scene.hits.length}`;
}

function tick(stamp) {
  if (playing && before !== null) {
    now += (stamp - before) / 1000 * Number(pace.value);
    if (now > scene.duration + 0.6) now = 0;
  }
  before = stamp;
  draw();
  requestAnimationFrame(tick);
}

slider.max = scene.duration;
slider.addEventListener("input", () => { now = Number(slider.value); playing = false; button.textContent = "Play"; });
button.addEventListener("click", () => { playing = !playing; button.textContent = playing ? "Pause" : "Play"; });
canvas.addEventListener("pointermove", event => {
  if (!event.buttons) return;
  azimuth -= event.movementX / 150;
  height = Math.min(1.5, Math.max(-0.2, height + event.movementY / 150));
});
canvas.addEventListener("wheel", event => { event.preventDefault(); zoom *= Math.exp(-event.deltaY / 600); }, { passive: false });
if (location.hash) { now = Number(location.hash.slice(1)) || 0; playing = false; button.textContent = "Play"; }
requestAnimationFrame(tick);
