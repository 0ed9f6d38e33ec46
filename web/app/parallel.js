// Parallel coordinates over the parameters and the value, drawn by pairs of values: however many trials there are, a
// line stands for all that go the same way between two axes.
import { quantity, count, valueText, short } from './format.js';
import { h } from './dom.js';
import { Plot, ramp } from './plot.js';
import { valueRange } from './charts.js';

const BINS = 40;

/** Each parameter's place on its axis (0 to size − 1, wide ones in bins), and the value's rank from best to worst. */
export class Axes {
  constructor(session) {
    this.session = session;
    this.rows = -1;
    this.refresh();
  }
  refresh() {
    const s = this.session;
    const values = s.values.map((v) => v.length).join();
    if (this.rows === s.length && this.values === values && this.amended === s.head.best) return;
    this.rows = s.length;
    this.values = values;
    this.amended = s.head.best;
    const n = s.length;
    this.axes = s.names.map((name, i) => {
      const order = s.order(i);
      const wide = order.sorted.length > 48;
      const size = wide ? BINS : order.sorted.length;
      const at = new Uint8Array(n);
      const p = s.param(i);
      for (let r = 0; r < n; r++) at[r] = wide ? Math.min(BINS - 1, Math.floor(order.place[p[r]] / order.sorted.length * BINS)) : order.place[p[r]];
      return { name, size, at, label: (k) => valueText(order.sorted[wide ? Math.min(order.sorted.length - 1, Math.round((k + 0.5) / BINS * order.sorted.length)) : k]) };
    }).filter((a) => a.size > 1);
    const range = valueRange(s);
    const f = range.log ? Math.log : (v) => v;
    const lo = f(range.lo);
    const span = f(range.hi) - lo || 1;
    const v = s.col('v');
    const e = s.col('e');
    const at = new Uint8Array(n);
    this.share = new Float32Array(n);
    for (let r = 0; r < n; r++) {
      // Best at the top; what failed or was stopped early has no place on this axis.
      let x = e[r] === 0 ? (f(v[r]) - lo) / span : NaN;
      if (e[r] === 0 && !(x >= 0)) x = 0;
      if (x > 1) x = 1;
      if (s.sign > 0) x = 1 - x;
      this.share[r] = x;
      at[r] = Number.isNaN(x) ? 255 : Math.min(BINS - 1, Math.floor(x * BINS));
    }
    const back = (k) => { const x = s.sign > 0 ? 1 - (k + 0.5) / BINS : (k + 0.5) / BINS; const y = lo + x * span; return range.log ? Math.exp(y) : y; };
    this.axes.push({ name: s.head.metric || 'value', size: BINS, at, value: true, label: (k) => quantity(back(k), s.head.unit) });
  }
}

/** The rows that all brushes hold; null where there is no brush. */
export function brushMask(axes, brushes) {
  const set = axes.axes.map((a, i) => [a, brushes.get(a.name), i]).filter((x) => x[1]);
  if (set.length === 0) return null;
  const mask = new Uint8Array(axes.rows).fill(1);
  for (const [a, [lo, hi]] of set)
    for (let r = 0; r < mask.length; r++) if (a.at[r] < lo || a.at[r] > hi) mask[r] = 0;
  return mask;
}

export function parallelPlot(app, brush) {
  let last = null;
  const axesOf = () => {
    const s = app.session();
    if (!s) return null;
    if (!last || last.session !== s) last = new Axes(s);
    last.refresh();
    return last;
  };
  const overlay = h('div', { class: 'axes' });
  const place = (w, hh, n) => ({ left: 30, right: w - 62, top: 44, bottom: hh - 16, x: (i) => 30 + (w - 92) * (n > 1 ? i / (n - 1) : 0) });
  const plot = new Plot({
    title: 'Where the search has looked', width: 'w12', height: (w) => (w < 520 ? 320 : 380),
    what: 'Each axis is a parameter, the last the value, best at the top. Lines are coloured by the best that went that way (yellow is best) and as strong as many went. Drag along axes to keep what passes there; from the keyboard, arrows on an axis.',
    least: () => (last ? last.axes.length * 58 + 90 : 0),
    says: () => { const m = brush.mask; return m ? `${m.reduce((a, b) => a + b, 0)} trials in the selection` : 'nothing is selected'; },
    paint(s, w, hh, t) {
      const a = axesOf();
      if (!a || a.rows === 0 || a.axes.length < 2) { s.text('No trial has ended yet', w / 2, hh / 2, { colour: t.faint, align: 'center' }); return null; }
      const began = performance.now();
      const mask = brush.mask;
      const n = a.axes.length;
      const g = place(w, hh, n);
      const y = (axis, k) => g.bottom - (axis.size > 1 ? k / (axis.size - 1) : 0.5) * (g.bottom - g.top);
      const lines = [];
      const dim = [];
      let most = 1;
      for (let i = 0; i + 1 < n; i++) {
        const l = a.axes[i];
        const r = a.axes[i + 1];
        const size = l.size * r.size;
        const counts = new Uint32Array(size);
        const best = new Float32Array(size).fill(-1);
        const others = new Uint8Array(size);
        for (let row = 0; row < a.rows; row++) {
          if (l.at[row] === 255 || r.at[row] === 255) continue;
          const k = l.at[row] * r.size + r.at[row];
          if (mask && !mask[row]) { others[k] = 1; continue; }
          counts[k]++;
          if (a.share[row] > best[k]) best[k] = a.share[row];
        }
        for (let k = 0; k < size; k++) {
          if (counts[k] > 0) { lines.push([i, Math.floor(k / r.size), k % r.size, counts[k], best[k]]); if (counts[k] > most) most = counts[k]; } else if (others[k]) dim.push([i, Math.floor(k / r.size), k % r.size]);
        }
      }
      const place4 = (i, from, to) => [g.x(i), y(a.axes[i], from), g.x(i + 1), y(a.axes[i + 1], to)];
      s.segments(dim.map(([i, from, to]) => place4(i, from, to)), { colour: t.series[7], width: 0.7, alpha: 0.18 });
      // Lines that look alike are drawn at once: a stroke costs far more than a line in it.
      const TONES = 24;
      const WIDTHS = 5;
      const alike = new Map();
      for (const [i, from, to, c, b] of lines) {
        const tone = b < 0 ? -1 : Math.round(b * (TONES - 1));
        const wide = Math.ceil(Math.sqrt(c / most) * WIDTHS);
        const key = tone * (WIDTHS + 1) + wide;
        let group = alike.get(key);
        if (!group) alike.set(key, (group = { tone, wide, list: [] }));
        group.list.push(place4(i, from, to));
      }
      for (const { tone, wide, list } of [...alike.values()].sort((p, q) => p.tone - q.tone || p.wide - q.wide)) {
        const b = tone / (TONES - 1);
        s.segments(list, { colour: ramp(tone < 0 ? 0 : t.dark ? 0.12 + 0.88 * b : b * 0.93), width: 0.6 + 2.6 * wide / WIDTHS, alpha: tone < 0 ? 0.18 : 0.22 + 0.7 * b ** 3 });
      }
      const gap = (g.right - g.left) / Math.max(1, n - 1);
      a.axes.forEach((axis, i) => {
        const x = g.x(i);
        s.line([x, x], [g.top, g.bottom], { colour: t.soft, width: 1 });
        s.text(axis.name, x, i % 2 && gap < 78 ? 12 : 26, { colour: t.ink, size: 11.5, weight: 600, align: i === 0 ? 'left' : 'center', most: (gap < 78 ? gap * 2 : gap) - 6 });
        const step = axis.value ? Math.ceil(axis.size / 5) : Math.max(1, Math.ceil(axis.size / Math.floor((g.bottom - g.top) / 20)));
        for (let k = 0; k < axis.size; k += step) {
          const py = y(axis, k);
          const text = axis.label(k);
          const atRight = i === n - 1;
          const room = atRight ? 54 : Math.max(26, gap * 0.45);
          const wide = Math.min(room, s.measure(text, 10.5)) + 6;
          s.rect(x + 3, py - 7, wide, 14, { colour: t.card, alpha: 0.78, radius: 3 });
          s.text(text, x + 6, py, { colour: t.soft, size: 10.5, most: room });
        }
        const b = brush.set.get(axis.name);
        if (b) {
          const half = axis.size > 1 ? (g.bottom - g.top) / (axis.size - 1) / 2 : 10;
          const top = Math.max(g.top - 6, y(axis, b[1]) - half);
          const low = Math.min(g.bottom + 6, y(axis, b[0]) + half);
          s.rect(x - 8, top, 16, low - top, { colour: t.accent, alpha: 0.25, radius: 4 });
          s.line([x, x], [top, low], { colour: t.accent, width: 3 });
        }
      });
      plot.took = performance.now() - began;
      return { a, g, n };
    },
    after(painted, w, hh) {
      if (!painted) { overlay.replaceChildren(); return; }
      const { a, g } = painted;
      const names = a.axes.map((x) => x.name).join();
      if (overlay.names !== names || overlay.width !== w) {
        overlay.names = names;
        overlay.width = w;
        overlay.replaceChildren(...a.axes.map((axis, i) => handle(axis.name, i)));
      }
      [...overlay.children].forEach((el, i) => {
        const axis = a.axes[i];
        const wide = Math.min(36, Math.max(16, (g.right - g.left) / Math.max(1, a.axes.length - 1) * 0.6));
        el.style.left = `${g.x(i) - wide / 2}px`;
        el.style.top = `${g.top - 8}px`;
        el.style.width = `${wide}px`;
        el.style.height = `${g.bottom - g.top + 16}px`;
        const b = brush.set.get(axis.name);
        el.setAttribute('aria-valuetext', b ? `${axis.label(b[0])} to ${axis.label(b[1])}` : 'all');
        el.setAttribute('aria-valuemax', String(axis.size - 1));
        el.setAttribute('aria-valuenow', String(b ? b[0] : 0));
      });
    },
    data() {
      const a = axesOf();
      if (!a) return [['trial'], []];
      const s = a.session;
      const rows = [];
      for (let r = 0; r < a.rows; r++) if (!brush.mask || brush.mask[r]) rows.push([s.columns.n.data[r], ...s.names.map((_, p) => valueText(s.values[p][s.p[p].data[r]])), s.columns.v.data[r]]);
      return [['trial', ...s.names, s.head.metric || 'value'], rows];
    },
  });
  function handle(name, index) {
    const at = (e) => {
      const { a, g } = plot.painted;
      const r = plot.canvas.getBoundingClientRect();
      const axis = a.axes[index];
      return Math.max(0, Math.min(axis.size - 1, Math.round((g.bottom - (e.clientY - r.top)) / (g.bottom - g.top) * (axis.size - 1))));
    };
    let from = null;
    let moved = false;
    const b = h('button', { type: 'button', role: 'slider', 'aria-label': `${name}: brush`, 'aria-valuemin': '0', title: `${name}: drag to select, click to clear` });
    b.addEventListener('pointerdown', (e) => { if (plot.painted) { from = at(e); moved = false; b.setPointerCapture(e.pointerId); } });
    b.addEventListener('pointermove', (e) => {
      if (from === null) return;
      const to = at(e);
      if (to !== from || moved) { moved = true; brush.put(name, [Math.min(from, to), Math.max(from, to)]); }
    });
    b.addEventListener('pointerup', (e) => {
      if (from === null) return;
      if (!moved) { if (brush.set.has(name)) brush.put(name, null); else brush.put(name, [at(e), at(e)]); }
      from = null;
    });
    b.addEventListener('keydown', (e) => {
      const size = plot.painted.a.axes[index].size;
      const now = brush.set.get(name);
      const go = (lo, hi) => { brush.put(name, [Math.max(0, Math.min(size - 1, lo)), Math.max(0, Math.min(size - 1, hi))]); e.preventDefault(); };
      if (e.key === 'Escape' || e.key === 'Delete') { brush.put(name, null); e.preventDefault(); } else if (e.key === 'ArrowUp' || e.key === 'ArrowDown') {
        const d = e.key === 'ArrowUp' ? 1 : -1;
        if (!now) go(d > 0 ? 0 : size - 1, d > 0 ? 0 : size - 1);
        else if (e.shiftKey) go(now[0], Math.max(now[0], now[1] + d));
        else if (now[0] + d >= 0 && now[1] + d < size) go(now[0] + d, now[1] + d);
        else e.preventDefault();
      }
    });
    return b;
  }
  plot.box.append(overlay);
  plot.axesOf = axesOf;
  return plot;
}
