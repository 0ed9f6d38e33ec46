// Plots that several views share.
import { short, quantity, duration, count, percent, configText } from './format.js';
import { Plot, frame, extent, tipLines, textWidth } from './plot.js';
import { ENDINGS, endingText } from './data.js';
import { quantile, sortedNumbers } from './stats.js';

/** Colours and names of the ways a trial can end and of where its time goes; the same everywhere. */
export const kindColours = (t) => ({ measured: t.series[0], cached: t.series[2], bounded: t.series[7], failed: t.series[1] });
export const kindNames = { measured: 'measured', cached: 'from the cache', bounded: 'stopped early', failed: 'failed' };
export const phaseColours = (t) => ({ queue: t.series[7], build: t.series[4], run: t.series[0], clean: t.series[2] });
export const phaseNames = { queue: 'waiting', build: 'building', run: 'running', clean: 'cleaning' };

export function kindOf(session, row) {
  const e = session.columns.e.data[row];
  if (e > 1) return 'failed';
  return session.columns.c.data[row] ? 'cached' : e === 1 ? 'bounded' : 'measured';
}

/** The rows whose values a plot spans: without the slowest few, where these would press the rest flat. */
export function valueRange(session) {
  const v = session.col('v');
  const e = session.col('e');
  const good = [];
  const step = Math.max(1, Math.floor(v.length / 20000));
  for (let i = 0; i < v.length; i += step) if (e[i] <= 1 && Number.isFinite(v[i])) good.push(v[i]);
  for (const i of session.improvements) good.push(v[i]);
  const sorted = sortedNumbers(good);
  if (sorted.length === 0) return { lo: 0, hi: 1, log: false };
  const log = sorted[0] > 0 && sorted[sorted.length - 1] / sorted[0] > 8;
  const lo = log || session.sign > 0 ? sorted[0] : quantile(sorted, 0.005);
  const hi = log || session.sign < 0 ? sorted[sorted.length - 1] : quantile(sorted, 0.995);
  const [a, b] = extent([lo, hi], { log });
  return { lo: a, hi: b, log };
}

/** Many points: each place of two pixels once, in the colour of what lies there, the stronger the more there are. */
function dense(s, one, f, mask, k, t, axis) {
  const wide = Math.ceil((f.right - f.left) / 2) + 1;
  const high = Math.ceil((f.bottom - f.top) / 2) + 1;
  const kinds = ['bounded', 'measured', 'cached'];
  const counts = Array.from({ length: 4 }, () => new Uint16Array(wide * high));
  const foot = new Uint8Array(wide);
  const { v, e, c, t: time } = one.columns;
  const byTime = axis() === 't';
  for (let i = 0; i < one.length; i++) {
    const x = (f.sx(byTime ? time.data[i] : i + 1) - f.left) / 2 | 0;
    const ending = e.data[i];
    if (ending > 1) { foot[x] = 1; continue; }
    const y = f.sy(v.data[i]) - f.top;
    if (!(y >= 0 && y <= f.bottom - f.top)) continue;
    counts[mask && !mask[i] ? 3 : c.data[i] ? 2 : ending === 1 ? 0 : 1][(y / 2 | 0) * wide + x]++;
  }
  const draw = (at, colour, scale) => {
    for (const [low, alpha] of [[1, 0.3], [2, 0.5], [4, 0.75], [8, 0.95]]) {
      const xs = [];
      const ys = [];
      for (let i = 0; i < at.length; i++) if (at[i] >= low && (low === 8 || at[i] < low * 2)) { xs.push(f.left + (i % wide) * 2 + 1); ys.push(f.top + Math.floor(i / wide) * 2 + 1); }
      if (xs.length) s.squares(xs, ys, { colour, side: 2, alpha: alpha * scale });
    }
  };
  draw(counts[3], t.series[7], 0.25);
  kinds.forEach((kind, i) => draw(counts[i], k[kind], kind === 'bounded' ? 0.7 : 1));
  foot.forEach((on, x) => { if (on) s.rect(f.left + x * 2, f.bottom - 5, 1, 5, { colour: t.bad, alpha: 0.8 }); });
}

function bestLine(s, one, f, t, xOf) {
  if (one.improvements.length === 0) return;
  const v = one.col('v');
  const xs = one.improvements.map((i) => f.sx(xOf(one, i)));
  const ys = one.improvements.map((i) => f.sy(v[i]));
  xs.push(f.right);
  ys.push(ys[ys.length - 1]);
  s.line(xs, ys, { colour: t.series[1], width: 2, step: true });
  s.dots([xs[xs.length - 2]], [ys[ys.length - 2]], { colour: t.series[1], radius: 4, ring: t.card });
}

/** Every trial's value and the best so far; what is brushed stands out. */
export function valuesPlot(app, { axis, brushed }) {
  const xOf = (s, i) => (axis() === 't' ? s.columns.t.data[i] : i + 1);
  return new Plot({
    title: 'Values and the best so far', width: 'w8', height: (w) => (w < 520 ? 280 : 340),
    what: 'One point for each trial in the order of its end; the line is the best measured until then. Failures are ticks at the foot.',
    legend: (t) => { const k = kindColours(t); return [[t.series[1], 'best so far', true], [k.measured, 'measured'], [k.cached, 'from the cache'], [k.bounded, 'stopped early (at least)'], [t.bad, 'failed']]; },
    says: () => { const s = app.session(); return s && s.best !== null ? `${count(s.length)} trials, best ${quantity(s.best, s.head.unit)}` : 'No value yet'; },
    paint(s, w, hh, t) {
      const one = app.session();
      if (!one || one.length === 0) { s.text('No trial has ended yet', w / 2, hh / 2, { colour: t.faint, align: 'center' }); return null; }
      const range = valueRange(one);
      const last = axis() === 't' ? Math.max(1e-9, one.columns.t.data[one.length - 1]) : Math.max(2, one.length);
      const f = frame(s, w, hh, t, { lo: axis() === 't' ? 0 : 1, hi: last, label: axis() === 't' ? 'time since the start' : 'trials', fmt: axis() === 't' ? (v) => duration(v) : (v) => count(v) },
        { ...range, label: one.head.metric || 'value', fmt: (v) => quantity(v, one.head.unit) });
      const mask = brushed();
      const k = kindColours(t);
      if (one.length > 3000) {
        dense(s, one, f, mask, k, t, axis);
        bestLine(s, one, f, t, xOf);
        return { f, one };
      }
      const groups = { measured: [[], []], cached: [[], []], bounded: [[], []], failed: [[], []], dim: [[], []] };
      const v = one.col('v');
      for (let i = 0; i < one.length; i++) {
        const kind = kindOf(one, i);
        const g = mask && !mask[i] && kind !== 'failed' ? groups.dim : groups[kind];
        const y = kind === 'failed' ? f.bottom - 3 : f.sy(v[i]);
        if (kind !== 'failed' && !(y >= f.top - 1 && y <= f.bottom)) continue;
        g[0].push(f.sx(xOf(one, i)));
        g[1].push(y);
      }
      const radius = one.length > 800 ? 1.7 : 2.5;
      s.dots(...groups.dim, { colour: t.series[7], radius, alpha: 0.14 });
      for (const kind of ['bounded', 'measured', 'cached']) s.dots(...groups[kind], { colour: k[kind], radius, alpha: kind === 'bounded' ? 0.45 : 0.72 });
      for (const x of groups.failed[0]) s.rect(x - 0.75, f.bottom - 7, 1.5, 7, { colour: t.bad, alpha: 0.85 });
      bestLine(s, one, f, t, xOf);
      return { f, one };
    },
    hit(x, y, { f, one }) {
      let found = -1;
      let near = 144;
      // Both axes grow with the rows.
      let from = 0;
      for (let step = 1 << 20; step > 0; step >>= 1) if (from + step < one.length && f.sx(xOf(one, from + step)) < x - 12) from += step;
      for (let i = from; i < one.length; i++) {
        const dx = f.sx(xOf(one, i)) - x;
        if (dx > 12) break;
        if (dx < -12) continue;
        const v = one.columns.v.data[i];
        const dy = (one.columns.e.data[i] > 1 ? f.bottom - 3 : f.sy(v)) - y;
        const d = dx * dx + dy * dy;
        if (d < near) { near = d; found = i; }
      }
      if (found < 0) return null;
      return { html: trialTip(one, found), go: () => app.openTrial(one.number, one.columns.n.data[found]) };
    },
    data() {
      const one = app.session();
      const rows = [];
      let best = NaN;
      let next = 0;
      for (let i = 0; i < one.length; i++) {
        if (one.improvements[next] === i) { best = one.columns.v.data[i]; next++; }
        rows.push([one.columns.n.data[i], one.columns.t.data[i], ENDINGS[one.columns.e.data[i]], one.columns.c.data[i], one.columns.v.data[i], best, ...one.names.map((_, p) => { const x = one.values[p][one.p[p].data[i]]; return Array.isArray(x) ? x.join(' ') : x; })]);
      }
      return [['trial', 'time_s', 'result', 'cached', `value_${one.head.unit}`, 'best_so_far', ...one.names], rows];
    },
  });
}

export function trialTip(s, row) {
  const e = s.columns.e.data[row];
  const text = e === 0 ? quantity(s.columns.v.data[row], s.head.unit, 4) : e === 1 ? `${s.sign > 0 ? 'at least' : 'at most'} ${quantity(s.columns.v.data[row], s.head.unit, 4)}` : endingText(ENDINGS[e]);
  return tipLines(`Trial ${count(s.columns.n.data[row])}: ${text}`, [
    ['after', duration(s.columns.t.data[row])],
    s.columns.s.data[row] > 0 ? ['spread ±', percent(s.columns.s.data[row])] : null,
    ['', configText(s.config(row)).slice(0, 220)]]);
}

/** Horizontal bars with their names at the left, or above where these are too long: items of [name, value, colour, text]. */
export function barsPlot({ title, what, width, items, data, note }) {
  const nameRoom = (w) => w * 0.42 - 12;
  const above = (list, w) => list.some((i) => textWidth(i[0], 12.5) > nameRoom(w));
  return new Plot({
    title, what, width: width ?? 'w4', height: (w) => { const list = items({ series: [] }); return Math.max(60, list.length * (above(list, w) ? 40 : 26) + (note ? 26 : 8)); },
    says: () => items({ series: [] }).map((i) => `${i[0]} ${i[3]}`).join(', '),
    paint(s, w, hh, t) {
      const list = items(t);
      if (list.length === 0) { s.text('Nothing yet', w / 2, hh / 2, { colour: t.faint, align: 'center' }); return null; }
      const over = above(list, w);
      const left = over ? 2 : Math.max(...list.map((i) => s.measure(i[0], 12.5))) + 12;
      const textRoom = Math.max(...list.map((i) => s.measure(i[3], 12))) + 10;
      const top = Math.max(...list.map((i) => i[1]), 1e-12);
      list.forEach(([name, value, colour, text], i) => {
        const y = over ? i * 40 + 28 : i * 26 + 13;
        const wide = Math.max(value > 0 ? 2 : 0, value / top * (w - left - textRoom));
        if (over) s.text(name, left, y - 18, { colour: t.soft, size: 12.5, most: w - 4 });
        else s.text(name, left - 10, y, { colour: t.soft, align: 'right', size: 12.5 });
        s.rect(left, y - 7, wide, 14, { colour, radius: 3 });
        s.text(text, left + wide + 7, y, { colour: t.ink, size: 12 });
      });
      const said = note?.();
      if (said) s.text(said, 2, hh - 10, { colour: t.faint, size: 12, most: w - 4 });
      return null;
    },
    data: data ?? (() => [['name', 'value'], items({ series: [] }).map((i) => [i[0], i[1]])]),
  });
}

/** Stacked columns over bins of time: series of [name, colour, Float64Array of the bins]. */
export function columnsPlot({ title, what, width, height, make, yLabel, yFmt }) {
  return new Plot({
    title, what, width, height: height ?? 230,
    legend: (t) => (make(t)?.series ?? []).map((s) => [s[1], s[0]]),
    paint(s, w, hh, t) {
      const m = make(t, w);
      if (!m) { s.text('Nothing yet', w / 2, hh / 2, { colour: t.faint, align: 'center' }); return null; }
      const n = m.series[0][2].length;
      const sums = Array.from({ length: n }, (_, i) => m.series.reduce((a, b) => a + b[2][i], 0));
      const f = frame(s, w, hh, t, { lo: m.lo, hi: m.hi, fmt: m.fmt, label: m.label }, { lo: 0, hi: Math.max(...sums, 1e-12) * 1.05, label: yLabel, fmt: yFmt });
      const step = (f.right - f.left) / n;
      for (let i = 0; i < n; i++) {
        let base = 0;
        for (const [, colour, bins] of m.series) {
          if (!bins[i]) continue;
          const y1 = f.sy(base + bins[i]);
          s.rect(f.left + i * step + 0.5, y1, Math.max(1, step - 1), f.sy(base) - y1, { colour });
          base += bins[i];
        }
      }
      return { f, m, n, step };
    },
    hit(x, y, { f, m, n, step }) {
      const i = Math.floor((x - f.left) / step);
      if (i < 0 || i >= n || y > f.bottom) return null;
      const at = m.lo + (m.hi - m.lo) * (i + 0.5) / n;
      return { html: tipLines(m.fmt(at), m.series.filter((s) => s[2][i] > 0).map((s) => [s[0], (yFmt ?? short)(s[2][i])])) };
    },
    data() {
      const m = make({ series: [], bad: '', good: '' }, 800);
      if (!m) return [['from'], []];
      const n = m.series[0][2].length;
      return [['from', ...m.series.map((s) => s[0])], Array.from({ length: n }, (_, i) => [m.lo + (m.hi - m.lo) * i / n, ...m.series.map((s) => s[2][i])])];
    },
  });
}
