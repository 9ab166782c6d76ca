"""What moves on the page: a crosshair with values, a legend that hides lines, and zooming by a drag
(on a phone by two fingers). Without it the page is complete. It writes text only (`textContent`),
and the page allows no other script.

A chart's drawing is stretched to its place: zooming shows a part of it (`viewBox`), and labels are
made anew. The vertical axis follows what is in sight."""

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
const ticks = (low, high, about) => {
  const rough = (high - low) / about, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].find(f => f * power >= rough * 0.999) * power;
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i++)
    found.push(i * step);
  return found;
};
document.querySelectorAll("figure[data-chart]").forEach(figure => {
  const c = data[Number(figure.dataset.chart)], plot = figure.querySelector(".plot");
  if (!c || !plot) return;
  const cross = make("div", "cross", plot), tip = make("div", "tip", plot), spots = [];
  const hidden = new Set();
  const svg = plot.querySelector("svg"), seen = {x: [...c.x], y: [...c.y]};
  const share = (ends, v) => (v - ends[0]) / (ends[1] - ends[0]);
  const height = y => c.log ? Math.log10(y) : y;
  const across = x => share(seen.x, x);
  const up = y => share(seen.y, height(y));
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
        if (!bars && Math.abs(s.x[at] - x) > (seen.x[1] - seen.x[0]) / 8) return;
        if (!bars && (across(s.x[at]) < 0 || across(s.x[at]) > 1)) return;
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
  const placeOf = event => {
    const box = plot.getBoundingClientRect();
    const part = Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
    return seen.x[0] + part * (seen.x[1] - seen.x[0]);
  };
  const first = [".xs", ".ys"].map(name => [...plot.querySelector(name).childNodes]);
  const tags = [...plot.querySelectorAll(".tag")].map(tag => [tag, parseFloat(tag.style.bottom)]);
  const back = make("button", "back off", figure);
  back.type = "button";
  back.textContent = "whole range";
  const labels = (name, values, place, text) => {
    const box = plot.querySelector(name);
    box.textContent = "";
    values.forEach(value => {
      const label = make("span", name[1], box);
      label.style[place] = 100 * (place === "left" ? share(seen.x, value)
        : share(seen.y, value)) + "%";
      label.textContent = text(value);
    });
  };
  const show = () => {
    const [a, b] = seen.x.map(x => share(c.x, x)), [d, e] = seen.y.map(y => share(c.y, y));
    svg.setAttribute("viewBox", [2000 * a, 1000 * (1 - e), 2000 * (b - a), 1000 * (e - d)]);
    tags.forEach(([tag, at]) => {
      const now = (at / 100 - d) / (e - d);
      tag.style.bottom = 100 * now + "%";
      tag.classList.toggle("off", now < 0 || now > 1);
    });
  };
  const whole = () => {
    seen.x = [...c.x];
    seen.y = [...c.y];
    [".xs", ".ys"].forEach((name, i) => plot.querySelector(name).replaceChildren(...first[i]));
    back.classList.add("off");
    show();
    clear();
  };
  const zoom = (low, high) => {
    const [a, b] = [Math.max(c.x[0], Math.min(low, high)), Math.min(c.x[1], Math.max(low, high))];
    if (c.k === "bars" || b - a < (c.x[1] - c.x[0]) / 1000) return;
    seen.x = [a, b];
    const found = [];
    c.s.forEach((s, i) => {
      if (!hidden.has(i)) s.x.forEach((x, j) => {
        if (x >= a && x <= b) [s.y, s.l, s.h].forEach(v => {
          if (v && v[j] !== null && (!c.log || v[j] > 0)) found.push(height(v[j]));
        });
      });
    });
    if (c.k === "lines" && found.length) {
      const bottom = Math.min(...found), top = Math.max(...found);
      const room = 0.06 * (top - bottom) || (c.y[1] - c.y[0]) / 20;
      seen.y = [Math.max(c.y[0], bottom - room), Math.min(c.y[1], top + room)];
      if (!(seen.y[1] > seen.y[0])) seen.y = [...c.y];
    }
    labels(".xs", ticks(...seen.x, 5), "left", v => Math.round(v).toLocaleString("en-US"));
    labels(".ys", ticks(...seen.y, 4), "bottom", v => c.k === "stack"
      ? Math.round(100 * v) + " %" : say(c.log ? 10 ** v : v));
    back.classList.remove("off");
    show();
  };
  chart.zoom = zoom;
  back.addEventListener("click", whole);
  plot.addEventListener("dblclick", whole);
  const fingers = new Map(), frame = make("div", "frame off", plot);
  let from = null, pinch = null;
  plot.addEventListener("pointerdown", event => {
    fingers.set(event.pointerId, event.clientX);
    if (fingers.size === 2) {
      from = null;
      pinch = {apart: Math.abs([...fingers.values()].reduce((p, q) => p - q)), x: [...seen.x],
        at: placeOf(event)};
    } else if (event.pointerType === "mouse" && event.button === 0) from = placeOf(event);
  });
  plot.addEventListener("pointermove", event => {
    if (fingers.has(event.pointerId)) fingers.set(event.pointerId, event.clientX);
    if (pinch && fingers.size === 2) {
      const apart = Math.max(10, Math.abs([...fingers.values()].reduce((p, q) => p - q)));
      const factor = Math.max(10, pinch.apart) / apart;
      zoom(...pinch.x.map(end => pinch.at + (end - pinch.at) * factor));
      return;
    }
    chart.at = placeOf(event);
    if (from !== null) {
      const [a, b] = [from, chart.at].map(across).sort((p, q) => p - q);
      frame.classList.toggle("off", b - a < 0.01);
      frame.style.left = 100 * a + "%";
      frame.style.width = 100 * (b - a) + "%";
    }
    point(chart.at);
  });
  const lift = event => {
    fingers.delete(event.pointerId);
    if (fingers.size < 2) pinch = null;
    if (from !== null && event.type === "pointerup" && !frame.classList.contains("off"))
      zoom(from, placeOf(event));
    from = null;
    frame.classList.add("off");
  };
  plot.addEventListener("pointerup", lift);
  plot.addEventListener("pointercancel", lift);
  plot.addEventListener("pointerleave", event => { lift(event); clear(); });
  figure.addEventListener("blur", clear);
  figure.addEventListener("keydown", event => {
    if (event.target !== figure) return;
    const move = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    const span = seen.x[1] - seen.x[0], now = chart.at === undefined ? seen.x[1] : chart.at;
    if (event.key === "+") zoom(now - span / 4, now + span / 4);
    else if (event.key === "-") zoom(now - span, now + span);
    else if (event.key === "Escape") whole();
    else if (move) {
      chart.at = Math.min(seen.x[1], Math.max(seen.x[0], now + move * span / 50));
      point(chart.at);
    } else return;
    event.preventDefault();
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
