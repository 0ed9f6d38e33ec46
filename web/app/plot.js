// Plots: one drawing, on a canvas for the screen and as SVG to be saved.
import { ticks, logTicks, short } from './format.js';
import { h, menu, save, csv, card } from './dom.js';

export function theme() {
  const style = getComputedStyle(document.documentElement);
  const get = (n) => style.getPropertyValue(n).trim();
  return { ink: get('--ink'), soft: get('--soft'), faint: get('--faint'), line: get('--line'), grid: get('--grid'), card: get('--card'), bad: get('--bad'), good: get('--good'), accent: get('--accent'),
    series: [1, 2, 3, 4, 5, 6, 7, 8].map((i) => get(`--c${i}`)), dark: document.documentElement.dataset.theme === 'dark' };
}

// The perceptually uniform map "viridis" (Smith, van der Walt, Firing, 2015), by nine of its colours.
const VIRIDIS = [[68, 1, 84], [71, 44, 122], [59, 81, 139], [44, 113, 142], [33, 144, 141], [39, 173, 129], [92, 200, 99], [170, 220, 50], [253, 231, 37]];
/** A colour for t in 0 to 1. */
export function ramp(t, alpha = 1) {
  const x = Math.min(0.9999, Math.max(0, Number.isFinite(t) ? t : 0)) * (VIRIDIS.length - 1);
  const i = Math.floor(x);
  const c = VIRIDIS[i].map((v, k) => Math.round(v + (VIRIDIS[i + 1][k] - v) * (x - i)));
  return `rgba(${c[0]},${c[1]},${c[2]},${alpha})`;
}

const FONT = 'Inter, system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", "Liberation Sans", sans-serif';

let probe = null;
/** How wide a text is, in pixels. */
export function textWidth(text, size) {
  probe ??= document.createElement('canvas').getContext('2d');
  probe.font = `400 ${size}px ${FONT}`;
  return probe.measureText(text).width;
}

class CanvasSurface {
  constructor(ctx) { this.ctx = ctx; }
  line(xs, ys, { colour, width = 1.5, alpha = 1, dash = null, step = false }) {
    const c = this.ctx;
    c.globalAlpha = alpha; c.strokeStyle = colour; c.lineWidth = width; c.lineJoin = 'round'; c.setLineDash(dash ?? []);
    c.beginPath();
    for (let i = 0; i < xs.length; i++) {
      if (i === 0) c.moveTo(xs[i], ys[i]);
      else { if (step) c.lineTo(xs[i], ys[i - 1]); c.lineTo(xs[i], ys[i]); }
    }
    c.stroke(); c.setLineDash([]); c.globalAlpha = 1;
  }
  /** Lines of one style: a list of [x0, y0, x1, y1]. */
  segments(list, { colour, width = 1.5, alpha = 1 }) {
    const c = this.ctx;
    c.globalAlpha = alpha; c.strokeStyle = colour; c.lineWidth = width;
    c.beginPath();
    for (const [x0, y0, x1, y1] of list) { c.moveTo(x0, y0); c.lineTo(x1, y1); }
    c.stroke();
    c.globalAlpha = 1;
  }
  area(xs, lows, highs, { colour, alpha = 0.18 }) {
    const c = this.ctx;
    c.globalAlpha = alpha; c.fillStyle = colour; c.beginPath();
    for (let i = 0; i < xs.length; i++) c.lineTo(xs[i], highs[i]);
    for (let i = xs.length - 1; i >= 0; i--) c.lineTo(xs[i], lows[i]);
    c.closePath(); c.fill(); c.globalAlpha = 1;
  }
  dots(xs, ys, { colour, radius = 2, alpha = 1, ring = null }) {
    const c = this.ctx;
    c.globalAlpha = alpha; c.fillStyle = colour;
    if (xs.length > 3000) {
      this.squares(xs, ys, { colour, side: radius * 1.6, alpha });
    } else {
      for (let i = 0; i < xs.length; i++) { c.beginPath(); c.arc(xs[i], ys[i], radius, 0, 6.2832); c.fill(); if (ring) { c.strokeStyle = ring; c.lineWidth = 1.5; c.stroke(); } }
    }
    c.globalAlpha = 1;
  }
  squares(xs, ys, { colour, side, alpha = 1 }) {
    const c = this.ctx;
    c.globalAlpha = alpha; c.fillStyle = colour;
    for (let i = 0; i < xs.length; i++) c.fillRect(xs[i] - side / 2, ys[i] - side / 2, side, side);
    c.globalAlpha = 1;
  }
  rect(x, y, w, hh, { colour, alpha = 1, stroke = null, radius = 0 }) {
    const c = this.ctx;
    c.globalAlpha = alpha;
    if (colour) { c.fillStyle = colour; if (radius > 0) { c.beginPath(); c.roundRect(x, y, w, hh, Math.min(radius, w / 2, hh / 2)); c.fill(); } else c.fillRect(x, y, w, hh); }
    if (stroke) { c.strokeStyle = stroke; c.lineWidth = 1; c.strokeRect(x + 0.5, y + 0.5, w - 1, hh - 1); }
    c.globalAlpha = 1;
  }
  text(s, x, y, { colour, size = 11.5, align = 'left', base = 'middle', weight = 400, turn = 0, most = 0 }) {
    const c = this.ctx;
    c.fillStyle = colour; c.font = `${weight} ${size}px ${FONT}`; c.textAlign = align; c.textBaseline = base;
    let text = String(s);
    if (most > 0 && c.measureText(text).width > most) {
      while (text.length > 1 && c.measureText(text + '…').width > most) text = text.slice(0, -1);
      text += '…';
    }
    if (turn) { c.save(); c.translate(x, y); c.rotate(turn); c.fillText(text, 0, 0); c.restore(); } else c.fillText(text, x, y);
  }
  measure(s, size = 11.5) { this.ctx.font = `400 ${size}px ${FONT}`; return this.ctx.measureText(String(s)).width; }
  clip(x, y, w, hh) { this.ctx.save(); this.ctx.beginPath(); this.ctx.rect(x, y, w, hh); this.ctx.clip(); }
  unclip() { this.ctx.restore(); }
}

class SvgSurface {
  constructor(width, height, paper) {
    this.out = []; this.clips = 0; this.width = width; this.height = height; this.paper = paper;
    this.probe = document.createElement('canvas').getContext('2d');
  }
  static n(v) { return Number(v.toFixed(2)); }
  line(xs, ys, { colour, width = 1.5, alpha = 1, dash = null, step = false }) {
    let d = '';
    for (let i = 0; i < xs.length; i++) {
      if (i > 0 && step) d += `H${SvgSurface.n(xs[i])}`;
      d += `${i === 0 ? 'M' : 'L'}${SvgSurface.n(xs[i])},${SvgSurface.n(ys[i])}`;
    }
    this.out.push(`<path d="${d}" fill="none" stroke="${colour}" stroke-width="${width}" stroke-linejoin="round"${alpha < 1 ? ` opacity="${alpha}"` : ''}${dash ? ` stroke-dasharray="${dash.join(' ')}"` : ''}/>`);
  }
  segments(list, { colour, width = 1.5, alpha = 1 }) {
    const d = list.map((l) => `M${SvgSurface.n(l[0])},${SvgSurface.n(l[1])}L${SvgSurface.n(l[2])},${SvgSurface.n(l[3])}`).join('');
    if (d) this.out.push(`<path d="${d}" fill="none" stroke="${colour}" stroke-width="${width}"${alpha < 1 ? ` opacity="${alpha}"` : ''}/>`);
  }
  area(xs, lows, highs, { colour, alpha = 0.18 }) {
    const points = [];
    for (let i = 0; i < xs.length; i++) points.push(`${SvgSurface.n(xs[i])},${SvgSurface.n(highs[i])}`);
    for (let i = xs.length - 1; i >= 0; i--) points.push(`${SvgSurface.n(xs[i])},${SvgSurface.n(lows[i])}`);
    this.out.push(`<polygon points="${points.join(' ')}" fill="${colour}" opacity="${alpha}"/>`);
  }
  dots(xs, ys, { colour, radius = 2, alpha = 1, ring = null }) {
    // One path of short round strokes: a circle for each would be ten times the file.
    let d = '';
    for (let i = 0; i < xs.length; i++) d += `M${SvgSurface.n(xs[i])},${SvgSurface.n(ys[i])}h0`;
    if (d) this.out.push(`<path d="${d}" fill="none" stroke="${ring ?? colour}" stroke-width="${ring ? radius * 2 + 3 : radius * 2}" stroke-linecap="round" opacity="${alpha}"/>`);
    if (d && ring) this.out.push(`<path d="${d}" fill="none" stroke="${colour}" stroke-width="${radius * 2}" stroke-linecap="round" opacity="${alpha}"/>`);
  }
  squares(xs, ys, { colour, side, alpha = 1 }) {
    let d = '';
    for (let i = 0; i < xs.length; i++) d += `M${SvgSurface.n(xs[i] - side / 2)},${SvgSurface.n(ys[i])}h${side}`;
    this.out.push(`<path d="${d}" fill="none" stroke="${colour}" stroke-width="${side}" opacity="${alpha}"/>`);
  }
  rect(x, y, w, hh, { colour, alpha = 1, stroke = null, radius = 0 }) {
    this.out.push(`<rect x="${SvgSurface.n(x)}" y="${SvgSurface.n(y)}" width="${SvgSurface.n(Math.max(0, w))}" height="${SvgSurface.n(Math.max(0, hh))}" fill="${colour ?? 'none'}"${radius ? ` rx="${Math.min(radius, w / 2)}"` : ''}${alpha < 1 ? ` opacity="${alpha}"` : ''}${stroke ? ` stroke="${stroke}"` : ''}/>`);
  }
  text(s, x, y, { colour, size = 11.5, align = 'left', base = 'middle', weight = 400, turn = 0, most = 0 }) {
    let text = String(s);
    if (most > 0 && this.measure(text, size) > most) {
      while (text.length > 1 && this.measure(text + '…', size) > most) text = text.slice(0, -1);
      text += '…';
    }
    const dy = base === 'middle' ? '.35em' : base === 'top' ? '.8em' : '0';
    const anchor = align === 'center' ? 'middle' : align === 'right' ? 'end' : 'start';
    const safe = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
    this.out.push(`<text x="${SvgSurface.n(x)}" y="${SvgSurface.n(y)}" dy="${dy}" font-size="${size}" fill="${colour}" text-anchor="${anchor}"${weight !== 400 ? ` font-weight="${weight}"` : ''}${turn ? ` transform="rotate(${(turn * 180 / Math.PI).toFixed(1)} ${SvgSurface.n(x)} ${SvgSurface.n(y)})"` : ''}>${safe}</text>`);
  }
  measure(s, size = 11.5) { this.probe.font = `400 ${size}px ${FONT}`; return this.probe.measureText(String(s)).width; }
  clip(x, y, w, hh) { const id = `c${++this.clips}`; this.out.push(`<clipPath id="${id}"><rect x="${SvgSurface.n(x)}" y="${SvgSurface.n(y)}" width="${SvgSurface.n(w)}" height="${SvgSurface.n(hh)}"/></clipPath><g clip-path="url(#${id})">`); }
  unclip() { this.out.push('</g>'); }
  finish() {
    return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${this.width} ${this.height}" width="${this.width}" height="${this.height}" font-family='${FONT}'><rect width="100%" height="100%" fill="${this.paper}"/>${this.out.join('\n')}</svg>\n`;
  }
}

/** A scale from data to pixels, with the way back. */
export function scale(lo, hi, from, to, log = false) {
  const f = log ? Math.log : (v) => v;
  const a = f(lo);
  const span = f(hi) - a || 1;
  const s = (v) => from + (f(v) - a) / span * (to - from);
  s.back = (px) => { const v = a + (px - from) / (to - from) * span; return log ? Math.exp(v) : v; };
  s.lo = lo; s.hi = hi; s.log = log;
  return s;
}

/** Axes and a grid around a plot's inside; gives the scales. Each axis: lo, hi, log, label, fmt. */
export function frame(s, w, hh, t, x, y, { right = 10, top = 8 } = {}) {
  const yt = (y.log ? logTicks : ticks)(y.lo, y.hi, Math.max(2, Math.floor(hh / 46)));
  const yf = y.fmt ?? ((v) => short(v));
  const left = Math.min(w * 0.3, Math.max(...yt.map((v) => s.measure(yf(v)))) + (y.label ? 26 : 10));
  const bottom = x.label ? 40 : 24;
  const sx = scale(x.lo, x.hi, left, w - right, x.log);
  const sy = scale(y.lo, y.hi, hh - bottom, top, y.log);
  for (const v of yt) {
    const py = Math.round(sy(v)) + 0.5;
    if (py < top - 1 || py > hh - bottom + 1) continue;
    s.line([left, w - right], [py, py], { colour: t.grid, width: 1 });
    s.text(yf(v), left - 7, py, { colour: t.soft, align: 'right' });
  }
  const xf = x.fmt ?? ((v) => short(v, 6));
  if (x.ticks !== false) {
    const xt = x.log ? logTicks(x.lo, x.hi, Math.max(2, Math.floor(w / 90))) : ticks(x.lo, x.hi, Math.max(2, Math.floor(w / 95)));
    for (const v of xt) {
      const px = sx(v);
      if (px < left - 1 || px > w - right + 1) continue;
      const half = s.measure(xf(v)) / 2;
      s.line([Math.round(px) + 0.5, Math.round(px) + 0.5], [hh - bottom, hh - bottom + 4], { colour: t.line, width: 1 });
      s.text(xf(v), Math.min(px, w - half - 2), hh - bottom + 14, { colour: t.soft, align: 'center' });
    }
  }
  s.line([left, w - right], [hh - bottom + 0.5, hh - bottom + 0.5], { colour: t.line, width: 1 });
  if (x.label) s.text(x.label, (left + w - right) / 2, hh - 8, { colour: t.faint, align: 'center' });
  if (y.label) s.text(y.label, 9, (top + hh - bottom) / 2, { colour: t.faint, align: 'center', turn: -Math.PI / 2, most: hh - bottom - top });
  return { sx, sy, left, right: w - right, top, bottom: hh - bottom };
}

const all = new Set();
/** Draws every plot that is on the page anew. */
export function redrawAll() { for (const p of all) p.draw(); }
/** Forgets the plots of a view that goes. */
export function forgetPlots() { for (const p of all) p.gone(); all.clear(); }

/**
 * A card with a plot. `spec`: title, what, width (class), height (a number, or a function of the width), paint(surface, w, h, theme) that
 * may answer what hit() needs, data() -> [columns, rows], hit(x, y, painted) -> {html, go}, legend() -> [[colour, text, line?]].
 */
export class Plot {
  constructor(spec) {
    this.spec = spec;
    this.canvas = h('canvas', { role: 'img', 'aria-label': spec.title });
    this.tip = h('div', { class: 'tip', role: 'status' });
    this.box = h('div', { class: `plot${spec.least ? ' scrolls' : ''}` }, this.canvas, this.tip);
    this.legend = h('div', { class: 'legend' });
    this.el = card(spec.title, spec.what, spec.width ?? 'w6', spec.legend ? this.legend : null, this.box);
    if (spec.tools) this.el.tools.append(...spec.tools);
    const name = () => `attune-${spec.title.toLowerCase().replace(/[^a-z0-9]+/g, '-')}`;
    this.el.querySelector('header').append(menu(`Save “${spec.title}”`, [
      ['Save as SVG', () => save(`${name()}.svg`, this.svg(), 'image/svg+xml')],
      ['Save as PNG', () => this.png((blob) => save(`${name()}.png`, blob))],
      ['Data as CSV', () => save(`${name()}.csv`, csv(...spec.data()), 'text/csv')]]));
    this.width = 0;
    this.watch = new ResizeObserver(() => { if (Math.abs(this.box.clientWidth - this.width) > 0.5) this.draw(); });
    this.watch.observe(this.box);
    if (spec.hit) {
      this.canvas.addEventListener('pointermove', (e) => this.point(e));
      this.canvas.addEventListener('pointerdown', (e) => this.point(e));
      this.canvas.addEventListener('pointerleave', () => { this.tip.style.visibility = 'hidden'; });
      this.canvas.addEventListener('click', (e) => { const found = this.find(e); if (found?.go) found.go(); });
    }
    all.add(this);
  }
  gone() { this.watch.disconnect(); }
  height(w) { return typeof this.spec.height === 'function' ? this.spec.height(w) : this.spec.height ?? 260; }
  draw() {
    const room = this.box.clientWidth;
    if (room < 20 || !this.box.isConnected) return;
    this.width = room;
    // A plot that needs more room than there is can be scrolled.
    const w = Math.max(room, this.spec.least?.() ?? 0);
    this.canvas.style.width = w > room ? `${w}px` : '';
    const hh = this.height(w);
    const ratio = Math.min(3, window.devicePixelRatio || 1);
    this.canvas.width = Math.round(w * ratio);
    this.canvas.height = Math.round(hh * ratio);
    this.canvas.style.height = `${hh}px`;
    const ctx = this.canvas.getContext('2d');
    ctx.scale(ratio, ratio);
    const t = theme();
    this.painted = this.spec.paint(new CanvasSurface(ctx), w, hh, t);
    if (this.spec.legend) this.legend.replaceChildren(...this.spec.legend(t).map(([colour, text, line]) => h('span', {}, h('i', { class: line ? 'line' : '', style: { background: colour } }), text)));
    if (this.spec.says) this.canvas.setAttribute('aria-label', `${this.spec.title}. ${this.spec.says()}`);
    if (this.spec.after) this.spec.after(this.painted, w, hh);
  }
  svg() {
    const w = Math.max(640, Math.round(this.width), this.spec.least?.() ?? 0);
    const hh = this.height(w);
    const s = new SvgSurface(w, hh, theme().card);
    this.spec.paint(s, w, hh, theme());
    return s.finish();
  }
  png(give) {
    const c = document.createElement('canvas');
    const w = Math.max(640, Math.round(this.width), this.spec.least?.() ?? 0);
    const hh = this.height(w);
    c.width = w * 2;
    c.height = hh * 2;
    const ctx = c.getContext('2d');
    ctx.scale(2, 2);
    ctx.fillStyle = theme().card;
    ctx.fillRect(0, 0, w, hh);
    this.spec.paint(new CanvasSurface(ctx), w, hh, theme());
    c.toBlob(give, 'image/png');
  }
  find(e) {
    const r = this.canvas.getBoundingClientRect();
    return this.painted ? this.spec.hit(e.clientX - r.left, e.clientY - r.top, this.painted) : null;
  }
  point(e) {
    const found = this.find(e);
    this.canvas.style.cursor = found?.go ? 'pointer' : '';
    if (!found) { this.tip.style.visibility = 'hidden'; return; }
    this.tip.replaceChildren(...[found.html].flat());
    const r = this.canvas.getBoundingClientRect();
    const x = e.clientX - r.left;
    const y = e.clientY - r.top;
    this.tip.style.left = `${Math.max(0, Math.min(x + 14, r.width - this.tip.offsetWidth))}px`;
    this.tip.style.top = `${y + 18 + this.tip.offsetHeight > r.height + 40 ? y - this.tip.offsetHeight - 10 : y + 18}px`;
    this.tip.style.visibility = 'visible';
  }
}

/** Lines for a tip: [label, value]. */
export function tipLines(title, lines) {
  return [h('b', { text: title }), ...lines.filter((l) => l).map(([k, v]) => h('div', {}, h('span', { class: 'soft', text: `${k} ` }), v))];
}

/** The ends of some numbers, a little wider; for a logarithm above zero. */
export function extent(values, { log = false, zero = false, pad = 0.05 } = {}) {
  let lo = Infinity;
  let hi = -Infinity;
  for (const v of values) {
    if (!Number.isFinite(v) || (log && v <= 0)) continue;
    if (v < lo) lo = v;
    if (v > hi) hi = v;
  }
  if (!(hi >= lo)) return log ? [0.1, 1] : [0, 1];
  if (zero) lo = Math.min(0, lo);
  if (log) { const k = Math.max(1.02, (hi / lo) ** pad); return [lo / k, hi * k]; }
  const d = (hi - lo || Math.abs(hi) || 1) * pad;
  return [zero && lo === 0 ? 0 : lo - d, hi + d];
}
