"""What moves on the page: a crosshair with values, and a legend that hides lines. Without it the
page is complete. It writes text only (`textContent`), and the page allows no other script."""

from __future__ import annotations

import base64
import hashlib

SCRIPT = """
"use strict";
(() => {
const data = JSON.parse(document.getElementById("data").textContent);
const charts = [];
const say = v => v === 0 ? "0" : Math.abs(v) >= 1e4 || Math.abs(v) < 1e-3
  ? (Math.abs(v) >= 1e4 && Math.abs(v) < 1e12 ? Math.round(v).toLocaleString("en-US")
    : v.toExponential(2))
  : String(Number(v.toPrecision(4)));
const make = (tag, name, parent) => {
  const node = document.createElement(tag);
  if (name) node.className = name;
  if (parent) parent.append(node);
  return node;
};
const nearest = (xs, x) => {
  let a = 0, b = xs.length - 1;
  while (b - a > 1) { const m = (a + b) >> 1; if (xs[m] < x) a = m; else b = m; }
  return Math.abs(xs[a] - x) <= Math.abs(xs[b] - x) ? a : b;
};
document.querySelectorAll("figure[data-chart]").forEach(figure => {
  const c = data[Number(figure.dataset.chart)], plot = figure.querySelector(".plot");
  if (!c || !plot) return;
  const cross = make("div", "cross", plot), tip = make("div", "tip", plot), spots = [];
  const hidden = new Set();
  const across = x => (x - c.x[0]) / (c.x[1] - c.x[0]);
  const up = y => ((c.log ? Math.log10(y) : y) - c.y[0]) / (c.y[1] - c.y[0]);
  const chart = {figure, kind: c.k, x: c.x,
    hide() {
      cross.style.display = tip.style.display = "none";
      spots.splice(0).forEach(spot => spot.remove());
    },
    line(x) { cross.style.display = "block"; cross.style.left = 100 * across(x) + "%"; },
    show(x) {
      chart.hide();
      tip.textContent = "";
      const rows = [];
      let snap = null;
      c.s.forEach((s, i) => {
        if (hidden.has(i) || !s.x.length) return;
        const bars = c.k === "bars";
        const at = bars ? Math.min(s.y.length - 1, Math.max(0, s.x.findIndex(e => e > x) - 1))
          : nearest(s.x, x);
        if (!bars && Math.abs(s.x[at] - x) > (c.x[1] - c.x[0]) / 8) return;
        const place = bars ? (s.x[at] + s.x[at + 1]) / 2 : s.x[at];
        if (snap === null) snap = {place, head: bars ? say(s.x[at]) + " to " + say(s.x[at + 1])
          : Math.round(place).toLocaleString("en-US") + " " + c.u};
        let text = c.k === "stack" ? (100 * s.y[at]).toFixed(1) + " %" : say(s.y[at]);
        if (s.l && s.l[at] !== null) text += " [" + say(s.l[at]) + ", " + say(s.h[at]) + "]";
        rows.push([s, text]);
        const h = up(s.y[at]);
        if (c.k === "lines" && h >= 0 && h <= 1) {
          const spot = make("div", "spot " + s.c, plot);
          spot.style.left = 100 * across(s.x[at]) + "%";
          spot.style.top = 100 * (1 - h) + "%";
          spots.push(spot);
        }
      });
      if (!snap) return;
      make("div", "", tip).textContent = snap.head;
      rows.forEach(([s, text]) => {
        const row = make("div", "", tip);
        make("i", s.c, row);
        make("span", "", row).textContent = s.n;
        make("b", "", row).textContent = text;
      });
      chart.line(snap.place);
      tip.style.display = "block";
      const room = plot.clientWidth, where = across(snap.place) * room, wide = tip.offsetWidth;
      const left = where + 12 + wide > room ? where - 12 - wide : where + 12;
      tip.style.left = Math.max(-40, Math.min(left, room - wide)) + "px";
      return snap.place;
    }};
  charts.push(chart);
  const clear = () => charts.forEach(other => other.hide());
  const point = x => {
    const place = chart.show(x);
    if (place === undefined || c.k === "bars") return;
    charts.forEach(other => {
      if (other !== chart && other.kind !== "bars" && other.x[1] === c.x[1]) other.line(place);
    });
  };
  plot.addEventListener("pointermove", event => {
    const box = plot.getBoundingClientRect();
    const share = Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
    chart.at = c.x[0] + share * (c.x[1] - c.x[0]);
    point(chart.at);
  });
  plot.addEventListener("pointerleave", clear);
  figure.addEventListener("blur", clear);
  figure.addEventListener("keydown", event => {
    const move = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    if (!move || event.target !== figure) return;
    event.preventDefault();
    const span = c.x[1] - c.x[0], from = chart.at === undefined ? c.x[1] : chart.at;
    chart.at = Math.min(c.x[1], Math.max(c.x[0], from + move * span / 50));
    point(chart.at);
  });
  figure.querySelectorAll(".legend button").forEach(button => {
    button.addEventListener("click", () => {
      button.dataset.for.split(" ").forEach(name => {
        const i = Number(name), off = !hidden.has(i);
        if (off) hidden.add(i); else hidden.delete(i);
        plot.querySelectorAll(`g[data-s="${i}"]`).forEach(g => g.classList.toggle("off", off));
        button.setAttribute("aria-pressed", String(!off));
      });
    });
  });
});
addEventListener("beforeprint", () => {
  document.querySelectorAll("details").forEach(fold => { fold.open = true; });
});
})();
"""

# The page's policy names this hash: a script that slipped in from a run would not be run.
SCRIPT_HASH = "sha256-" + base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
