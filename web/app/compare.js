// Sessions, strategies or devices side by side.
import { count, duration, percent, quantity, short, valueText, when } from './format.js';
import { h, card, table, segments, chip, scroller } from './dom.js';
import { Plot, frame, extent, tipLines } from './plot.js';
import { bootstrapMean, mannWhitney, mean } from './stats.js';

const GROUPINGS = [['each', 'Each', 'Session'], ['strategy', 'By strategy', 'Strategy'], ['device', 'By device', 'Device']];
/** What a session's task was measured on. */
const deviceOf = (s) => { const t = s.head.target ?? {}; return String(t.device ?? t.cpu ?? t.gpu ?? (Object.values(t).map(valueText).join(' ') || 'unknown device')); };

export function compareView(app) {
  let axis = 'n';
  let grouping = null; // decided by what there is, until somebody chooses
  const chosen = new Set();
  let touched = false;
  const box = h('div', { class: 'checks', role: 'group', 'aria-label': 'Sessions to compare' });
  const chooser = card('What is compared', null, 'w4', box);
  const list = () => app.view.list.filter((s) => s.length > 0);
  const sessions = () => list().filter((s) => chosen.has(s.number)).slice(0, 400);
  const differing = (of) => new Set(sessions().map(of)).size;
  const groupedBy = () => grouping ?? (sessions().length <= 2 ? 'each' : differing((s) => s.head.strategy) < sessions().length && (differing((s) => s.head.strategy) > 1 || differing(deviceOf) === 1) ? 'strategy' : differing(deviceOf) > 1 && differing(deviceOf) < sessions().length ? 'device' : 'each');
  /** Several tasks have no value in common: of each what it is over the best of all that are compared. */
  const relative = () => differing((s) => s.head.task + s.head.unit) > 1;
  const bests = () => {
    const out = new Map();
    for (const s of sessions()) { const b = out.get(s.head.task); if (s.best !== null && (b === undefined || s.better(s.best, b))) out.set(s.head.task, s.best); }
    return out;
  };
  const over = (s, v, all) => { const b = all.get(s.head.task); return b > 0 && v > 0 ? (s.sign > 0 ? v / b : b / v) : NaN; };
  const colourOf = (t, i) => t.series[i % 7];

  /** The best so far at each of the points of an axis that all share. */
  const curve = (s, xs, goals) => {
    const out = new Float64Array(xs.length).fill(NaN);
    let k = 0;
    let best = NaN;
    for (let i = 0; i < xs.length; i++) {
      while (k < s.improvements.length && (axis === 'n' ? s.improvements[k] + 1 : s.columns.t.data[s.improvements[k]]) <= xs[i]) best = s.columns.v.data[s.improvements[k++]];
      out[i] = goals ? over(s, best, goals) : best;
    }
    return out;
  };
  const groups = () => {
    const by = new Map();
    const how = groupedBy();
    const all = sessions();
    const several = new Set(all.map((x) => x.head.task)).size > 1;
    for (const s of all) {
      const alike = all.filter((x) => x.label === s.label).length > 1;
      const key = how === 'strategy' ? s.head.strategy : how === 'device' ? deviceOf(s) : `${s.head.strategy} · seed ${s.head.seed}${several ? ` · ${s.head.task}` : ''}${alike ? ` · ${(s.head.id || String(s.number)).slice(0, 6)}` : ''}`;
      by.set(key, [...(by.get(key) ?? []), s]);
    }
    return [...by];
  };
  const curves = () => {
    const all = sessions();
    if (all.length === 0) return null;
    const goals = relative() ? bests() : null;
    const end = Math.max(...all.map((s) => (axis === 'n' ? s.length : s.columns.t.data[s.length - 1])));
    const n = Math.max(2, Math.min(400, axis === 'n' ? end : 400));
    const xs = Float64Array.from({ length: n }, (_, i) => (axis === 'n' ? Math.round(1 + (end - 1) * i / (n - 1)) : end * (i + 1) / n));
    return { xs, goals, groups: groups().map(([name, members]) => {
      const each = members.map((s) => curve(s, xs, goals));
      const middle = new Float64Array(n).fill(NaN);
      const low = new Float64Array(n).fill(NaN);
      const high = new Float64Array(n).fill(NaN);
      const step = Math.max(1, Math.floor(n / 80));
      for (let i = 0; i < n; i++) {
        const at = each.map((c) => c[i]);
        if (at.some(Number.isNaN)) continue;
        middle[i] = mean(at);
        if (members.length > 1 && (i % step === 0 || i === n - 1)) [low[i], high[i]] = bootstrapMean(at, 300);
      }
      return { name, members, middle, low, high };
    }) };
  };
  const overlay = new Plot({
    title: 'Best so far', width: 'w8', height: (w) => (w < 520 ? 280 : 360),
    what: 'Grouped: the mean with its 95 % bootstrap interval. Of several tasks: ratios to the best of each.',
    legend: (t) => groups().map(([name, m], i) => [colourOf(t, i), `${name}${m.length > 1 ? ` (${m.length})` : ''}`, true]),
    paint(s, w, hh, t) {
      const d = curves();
      if (!d) { s.text('Choose sessions to compare', w / 2, hh / 2, { colour: t.faint, align: 'center' }); return null; }
      const first = sessions()[0];
      const range = d.groups.flatMap((g) => [...g.middle].filter(Number.isFinite));
      const log = Math.min(...range) > 0 && Math.max(...range) / Math.min(...range) > 8;
      if (range.length === 0) { s.text('No value in common yet', w / 2, hh / 2, { colour: t.faint, align: 'center' }); return null; }
      const [lo, hi] = extent(range, { log });
      const said = (v) => (d.goals ? `${short(v, 4)}×` : quantity(v, first.head.unit));
      const f = frame(s, w, hh, t, { lo: axis === 'n' ? 1 : 0, hi: d.xs[d.xs.length - 1], label: axis === 'n' ? 'trials' : 'time since the start', fmt: axis === 'n' ? count : (v) => duration(v) }, { lo, hi, log, fmt: said, label: d.goals ? 'over the best of all' : first.head.metric || 'value' });
      s.clip(f.left, f.top - 4, f.right - f.left + 2, f.bottom - f.top + 6);
      d.groups.forEach((g, i) => {
        const band = [...g.low.keys()].filter((k) => Number.isFinite(g.low[k]));
        if (band.length > 1) s.area(band.map((k) => f.sx(d.xs[k])), band.map((k) => f.sy(g.low[k])), band.map((k) => f.sy(g.high[k])), { colour: colourOf(t, i) });
      });
      d.groups.forEach((g, i) => {
        const at = [...g.middle.keys()].filter((k) => Number.isFinite(g.middle[k]));
        s.line(at.map((k) => f.sx(d.xs[k])), at.map((k) => f.sy(g.middle[k])), { colour: colourOf(t, i), width: 2, step: g.members.length === 1, dash: i >= 7 ? [6, 4] : null });
      });
      s.unclip();
      return { d, f, said };
    },
    hit(x, y, { d, f, said }) {
      if (x < f.left || x > f.right || y > f.bottom) return null;
      const at = f.sx.back(x);
      let k = 0;
      while (k + 1 < d.xs.length && d.xs[k + 1] <= at) k++;
      return { html: tipLines(axis === 'n' ? `after ${count(d.xs[k])} trials` : `after ${duration(d.xs[k])}`, d.groups.slice(0, 12).map((g) => [g.name, said(g.middle[k])])) };
    },
    data: () => { const d = curves(); return d ? [[axis === 'n' ? 'trials' : 'time_s', ...d.groups.flatMap((g) => (g.members.length > 1 ? [g.name, `${g.name}_low`, `${g.name}_high`] : [g.name]))], [...d.xs].map((x, i) => [x, ...d.groups.flatMap((g) => (g.members.length > 1 ? [g.middle[i], g.low[i], g.high[i]] : [g.middle[i]]))])] : [['trials'], []]; },
  });
  const mode = h('div', { class: 'tools' });
  overlay.el.tools.prepend(mode);
  mode.append(segments('Against', [['n', 'Trials'], ['t', 'Time']], axis, (v) => { axis = v; overlay.draw(); }), segments('Group', GROUPINGS, 'each', (v) => { grouping = v; draw(); }));
  const figures = scroller('The figures, the table');
  const figuresCard = card('In numbers', 'To within 5 %: the trials until a result was that near to the best of all that are compared.', 'w12', figures);
  const tests = scroller('The tests, the table');
  const testsCard = card('Is the difference real?', 'Two-sided Mann–Whitney U test of the final bests (1947; exact for up to 25 sessions a side without ties, else the normal approximation). The share is the chance that a session of the first ended better than one of the second.', 'w12', tests);

  const fillFigures = () => {
    const all = sessions();
    const byTask = bests();
    const near = (s, within) => { const goal = byTask.get(s.head.task); const i = s.improvements.find((r) => (s.sign > 0 ? s.columns.v.data[r] <= goal * (1 + within) : s.columns.v.data[r] >= goal * (1 - within))); return i === undefined ? null : i + 1; };
    const interval = (values, fmt) => { const ok = values.filter((v) => v !== null && Number.isFinite(v)); if (!ok.length) return '–'; if (ok.length === 1) return fmt(ok[0]); const [lo, hi] = bootstrapMean(ok); return [fmt(mean(ok)), h('span', { style: { color: 'var(--faint)' } }, `  [${fmt(lo)}, ${fmt(hi)}]`)]; };
    figures.replaceChildren(table([{ title: GROUPINGS.find((x) => x[0] === groupedBy())[2] }, { title: 'Sessions', num: true, small: false }, { title: 'Trials', num: true }, { title: 'Best', num: true }, { title: 'Over the best of all', num: true }, { title: 'To within 5 %', num: true }, { title: 'Failed', num: true, small: false }, { title: 'Build + run', num: true, small: false }],
      groups().map(([name, m], i) => {
        const s = m[0];
        const failed = (x) => Object.entries(x.head.endings).filter(([k]) => k !== 'measured' && k !== 'bounded').reduce((a, b) => a + b[1], 0) / Math.max(1, x.head.proposed);
        return { cells: [h('span', {}, h('i', { style: { display: 'inline-block', width: '10px', height: '10px', 'border-radius': '3px', 'margin-right': '8px', background: `var(--c${i % 7 + 1})` } }), name), count(m.length), count(mean(m.map((x) => x.head.proposed))), new Set(m.map((x) => x.head.task)).size > 1 ? '–' : interval(m.map((x) => x.best), (v) => quantity(v, s.head.unit, 4)),
          interval(m.map((x) => over(x, x.best, byTask)), (v) => `${short(v, 4)}×`), interval(m.map((x) => near(x, 0.05)), (v) => count(v)), percent(mean(m.map(failed))), duration(mean(m.map((x) => x.head.build_s + x.head.run_s)))] };
      }), 'Choose sessions to compare.'));
    const pairs = [];
    const goals = relative() ? byTask : null;
    const g = groups();
    for (let i = 0; i < g.length; i++) for (let j = i + 1; j < g.length; j++) {
      const figure = (s) => (goals ? over(s, s.best, goals) : s.sign * s.best);
      const a = g[i][1].filter((s) => s.best !== null).map(figure);
      const b = g[j][1].filter((s) => s.best !== null).map(figure);
      if (a.length < 3 || b.length < 3) continue;
      const r = mannWhitney(a, b);
      pairs.push({ cells: [g[i][0], g[j][0], percent(1 - r.effect, 0), r.p < 0.0001 ? 'p < 0.0001' : `p = ${short(r.p, 2)}`, r.p < 0.05 ? chip(r.effect < 0.5 ? `${g[i][0]} is better` : `${g[j][0]} is better`, 'good') : chip('cannot be told apart')] });
    }
    testsCard.style.display = pairs.length ? '' : 'none';
    tests.replaceChildren(table([{ title: 'First' }, { title: 'Second' }, { title: 'First is better', num: true }, { title: 'Chance, if they were alike', num: true }, { title: 'Verdict' }], pairs));
  };
  const draw = () => {
    const now = groupedBy();
    [...mode.lastChild.children].forEach((b, i) => b.setAttribute('aria-pressed', String(GROUPINGS[i][0] === now)));
    overlay.draw();
    fillFigures();
  };
  let key = '';
  const fillBox = () => {
    const all = list();
    const s = app.session();
    if (!touched) { chosen.clear(); const alike = all.filter((x) => !s || x.head.task === s.head.task); for (const x of alike.length > 1 ? alike : all) chosen.add(x.number); }
    const now = all.map((x) => x.number).join() + [...chosen].join('.');
    if (now === key) return;
    key = now;
    box.replaceChildren(...[...all].reverse().slice(0, 300).map((x) => h('label', { title: `${x.head.id} ${when(x.head.started)}` }, h('input', { type: 'checkbox', checked: chosen.has(x.number), onchange: (e) => { touched = true; if (e.target.checked) chosen.add(x.number); else chosen.delete(x.number); draw(); } }), h('span', {}, `${x.label}`, h('span', { style: { color: 'var(--faint)' } }, ` ${quantity(x.best, x.head.unit)}`)))));
  };
  const el = h('div', { class: 'grid' }, overlay.el, chooser, figuresCard, testsCard);
  return { el, update(heavy) { if (heavy) { fillBox(); draw(); } } };
}
