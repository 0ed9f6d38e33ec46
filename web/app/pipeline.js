// The way of the trials: where they are, how fast they go, where the time goes.
import { count, duration, rate, percent, quantity, configText, short } from './format.js';
import { h, card, table, chip, segments, scroller } from './dom.js';
import { theme } from './plot.js';
import { barsPlot, columnsPlot, kindColours, kindNames, phaseColours, phaseNames, kindOf } from './charts.js';
import { ENDINGS, endingText } from './data.js';
import { quantile, sortedNumbers } from './stats.js';

const STAGES = [
  ['propose', 'Propose', 'what the strategy wants measured; credits bound how much is on its way at once', 3],
  ['cache', 'Cache', 'looked up: known, joined to one that is being measured already, or passed on', 5],
  ['queue', 'Queue', 'waiting for a builder or a slot', 7],
  ['build', 'Build', 'in a builder’s hands', 4],
  ['upload', 'Upload', 'what was built, to an agent that does not have it', 1],
  ['run', 'Run', 'in a slot’s hands, to the end of the cleaning', 0],
  ['clean', 'Clean', 'from the end of its runs until the samples are handed over and the place is free; a part of Run', 2],
  ['store', 'Store', 'from there until it is durable and told', 6],
  ['told', 'Told', 'from proposal to told', 3]];

/** What no monitor has seen: the records' phases. */
function stored(session) {
  const out = {};
  for (const [stage, k] of [['queue', 'q'], ['build', 'b'], ['run', 'r'], ['clean', 'k']]) {
    const all = session.col(k);
    const step = Math.max(1, Math.floor(all.length / 20000));
    const some = [];
    let n = 0;
    for (let i = 0; i < all.length; i += 1) if (all[i] > 0 && !session.columns.c.data[i]) { n++; if (i % step === 0) some.push(all[i]); }
    const sorted = sortedNumbers(some);
    out[stage] = { left: n, p50_s: quantile(sorted, 0.5), p95_s: quantile(sorted, 0.95) };
  }
  const { proposed, cached } = session.head;
  out.propose = out.told = { left: proposed };
  out.cache = { left: proposed };
  out.store = { left: proposed - cached };
  return out;
}

function stageCards(app) {
  const { stages, counts } = app.view.doc;
  const live = Object.fromEntries(stages.map((s) => [s.name, s]));
  const seen = stages.some((s) => s.entered > 0);
  const session = app.session();
  const from = seen || !session ? live : stored(session);
  const onTheWay = stages.reduce((a, s) => a + s.in, 0);
  const under = app.view.list.filter((s) => !s.head.ended && s.head.window > 0);
  const credits = under.reduce((a, s) => a + s.head.window, 0);
  const used = under.reduce((a, s) => a + s.head.in_flight, 0);
  // Without agents elsewhere nothing is ever uploaded.
  return STAGES.filter(([key]) => key !== 'upload' || from.upload?.entered || app.view.fleet).map(([key, name, what, colour]) => {
    const s = from[key] ?? { left: 0 };
    const facts = [];
    const fact = (k, v, hint) => facts.push(h('dt', { text: k, title: hint }), h('dd', { text: v }));
    const staysIn = seen && !['propose', 'clean', 'told'].includes(key);
    const main = key === 'propose' && seen ? [count(onTheWay), 'on the way'] : staysIn ? [count(s.in), 'now'] : [count(s.left), key === 'propose' ? 'proposed' : key === 'told' ? 'told' : 'passed'];
    if (key === 'propose' && seen) fact('proposed', count(s.left));
    if (key === 'cache') {
      fact('known', count(seen ? counts.hits : session?.head.cached));
      if (seen) { fact('joined', count(counts.joined), 'the same configuration is being measured already'); fact('missed', count(counts.misses)); }
    } else if (staysIn) fact('passed', count(s.left));
    if (s.p50_s > 0) { fact('median', duration(s.p50_s)); fact('95 %', duration(s.p95_s), '95 % took at most'); }
    if (seen) fact('rate', rate(s.rate), 'over the last ten seconds');
    const most = s.buckets ? Math.max(...s.buckets, 1) : 1;
    const last = s.buckets ? s.buckets.findLastIndex((b) => b > 0) : -1;
    const first = s.buckets ? s.buckets.findIndex((b) => b > 0) : 0;
    const full = credits > 0 && used >= credits;
    return h('div', { class: 'stage', style: { '--stage': `var(--c${colour + 1})` }, title: what },
      h('h3', { text: name }),
      h('div', { class: 'now' }, main[0], h('small', { text: main[1] })),
      h('dl', {}, facts),
      key === 'propose' && credits > 0 ? h('div', { class: 'credits', title: full ? 'all credits are used: the strategy waits for results' : 'the strategy may propose more' }, h('div', { class: 'bar' }, h('i', { style: { width: `${Math.min(100, used / credits * 100)}%`, background: full ? 'var(--bad)' : 'var(--stage)' } })), `${count(used)} of ${count(credits)} credits${full ? ': held back' : ''}`) : null,
      last >= 0 ? h('div', { class: 'spark', title: `how long, from ${duration(app.view.bounds[Math.max(0, first - 1)])} to ${duration(app.view.bounds[Math.min(last, app.view.bounds.length - 1)])}` }, s.buckets.slice(Math.max(0, first - 1), last + 2).map((b) => h('i', { style: { height: `${Math.round(b / most * 100)}%` } }))) : null);
  });
}

export function summaryStrip(app) {
  const root = h('div', { class: 'kpis' });
  const kpi = (label, value, note, bar) => h('div', { class: 'kpi' }, h('div', { class: 'label', text: label }), h('div', { class: 'value' }, value), bar ?? h('div', { class: 'note', text: note ?? '', title: note ?? '' }));
  root.update = () => {
    const s = app.session();
    if (!s) { root.replaceChildren(); return; }
    const hd = s.head;
    const failed = Object.entries(hd.endings).filter(([k]) => k !== 'measured' && k !== 'bounded').reduce((a, b) => a + b[1], 0);
    const elapsed = hd.ended ? hd.searched_s : s.length ? s.columns.t.data[s.length - 1] : 0;
    const first = s.improvements.length ? s.columns.v.data[s.improvements[0]] : null;
    const gain = hd.speedup ?? (first && s.best && first > 0 && s.best > 0 ? (s.sign > 0 ? first / s.best : s.best / first) : null);
    const done = hd.budget ? Math.min(1, hd.proposed / hd.budget) : null;
    root.replaceChildren(
      kpi(hd.goal === 'maximize' ? 'Best (largest)' : 'Best', quantity(s.best, hd.unit), s.best === null ? 'nothing measured yet' : configText(hd.best_config)),
      kpi('Gain', gain ? `${short(gain)}×` : '–', hd.speedup ? 'over the default configuration' : 'over the first measured'),
      kpi('Trials', [count(hd.proposed), hd.budget ? h('small', { text: `of ${hd.budget >= 1e5 ? `${short(hd.budget / 1e3)} k` : count(hd.budget)}` }) : null], null, done === null ? null : h('div', { class: 'bar', role: 'progressbar', 'aria-label': 'trials of the budget', 'aria-valuenow': Math.round(done * 100), 'aria-valuemin': '0', 'aria-valuemax': '100' }, h('i', { style: { width: `${done * 100}%` } }))),
      kpi('From the cache', percent(hd.proposed ? hd.cached / hd.proposed : null), `${count(hd.cached)} answers`),
      kpi('Failed', percent(hd.proposed ? failed / hd.proposed : null), Object.entries(hd.endings).filter(([k]) => k !== 'measured' && k !== 'bounded').map(([k, n]) => `${endingText(k)} ${n}`).join(', ') || 'none'),
      kpi(hd.ended ? 'Searched' : 'Searching for', duration(elapsed), hd.ended ? (hd.reason === 'stored' ? 'from the store' : `stopped: ${hd.reason.replaceAll('_', ' ')}`) : hd.window ? `${hd.in_flight} in flight of ${hd.window} credits` : 'under way'));
  };
  root.update();
  return root;
}

export function pipelineView(app) {
  const flow = h('div', { class: 'flow' });
  const strip = summaryStrip(app);
  let filter = 'all';
  const list = scroller('Trials, the table');

  const throughput = columnsPlot({ title: 'Trials ended over time', width: 'w8', what: 'By how they ended, over the whole session.', yLabel: 'trials', yFmt: (v) => short(v), make(t, w = 700) {
    const s = app.session();
    if (!s || s.length === 0) return null;
    const hi = Math.max(1e-6, s.columns.t.data[s.length - 1]);
    const n = Math.max(8, Math.min(80, Math.floor(w / 11), s.length));
    const k = t.series.length ? kindColours(t) : {};
    const bins = { measured: new Float64Array(n), cached: new Float64Array(n), bounded: new Float64Array(n), failed: new Float64Array(n) };
    for (let i = 0; i < s.length; i++) bins[kindOf(s, i)][Math.min(n - 1, Math.floor(s.columns.t.data[i] / hi * n))]++;
    return { lo: 0, hi, fmt: (v) => duration(v), label: 'time since the start', series: Object.entries(bins).map(([name, b]) => [kindNames[name], k[name], b]) };
  } });
  const sums = () => {
    const s = app.session();
    const out = { queue: 0, build: 0, run: 0, clean: 0 };
    if (!s) return out;
    for (let i = 0; i < s.length; i++) {
      if (s.columns.c.data[i]) continue;
      out.queue += s.columns.q.data[i]; out.build += s.columns.b.data[i]; out.run += s.columns.r.data[i]; out.clean += s.columns.k.data[i];
    }
    return out;
  };
  const time = barsPlot({ title: 'Where the time goes', width: 'w4', what: 'Summed over the trials that were measured; they overlap.', items: (t) => {
    const all = sums();
    const total = Object.values(all).reduce((a, b) => a + b, 0);
    if (total === 0) return [];
    return Object.entries(all).map(([k, v]) => [phaseNames[k], v, t.series.length ? phaseColours(t)[k] : '', `${duration(v)} · ${percent(v / total, 0)}`]);
  } });
  const failures = barsPlot({ title: 'How trials ended', width: 'w4', items: (t) => Object.entries(app.session()?.head.endings ?? {}).sort((a, b) => b[1] - a[1]).map(([k, n]) => [endingText(k), n, k === 'measured' ? t.series[0] : k === 'bounded' ? t.series[7] : t.series[1], count(n)]) });

  const rows = () => {
    const s = app.session();
    if (!s) return [];
    const out = [];
    const take = (i) => {
      const t = theme();
      const colours = phaseColours(t);
      const kind = kindOf(s, i);
      const e = s.columns.e.data[i];
      const parts = [['queue', s.columns.q.data[i]], ['build', s.columns.b.data[i]], ['run', s.columns.r.data[i]], ['clean', s.columns.k.data[i]]];
      const sum = parts.reduce((a, b) => a + b[1], 0);
      const trial = s.columns.n.data[i];
      out.push({ go: () => app.openTrial(s.number, trial), label: `Trial ${trial}`, cells: [
        count(trial), duration(s.columns.t.data[i]),
        e > 1 ? chip(endingText(ENDINGS[e]), 'bad') : [`${e === 1 ? (s.sign > 0 ? '≥ ' : '≤ ') : ''}${quantity(s.columns.v.data[i], s.head.unit, 4)}`],
        i === s.bestRow ? chip('best', 'good') : kind === 'cached' ? chip('cache') : kind === 'bounded' ? chip('stopped early') : '',
        sum > 0 && kind !== 'cached' ? h('div', { class: 'phases', title: parts.map(([k, v]) => `${phaseNames[k]} ${duration(v)}`).join(', ') }, parts.map(([k, v]) => h('i', { style: { width: `${v / sum * 100}%`, background: colours[k] } }))) : '',
        sum > 0 && kind !== 'cached' ? duration(sum) : '',
        h('code', { text: configText(s.config(i)) })] });
    };
    if (filter === 'best') {
      const v = s.col('v');
      const good = [];
      for (let i = 0; i < s.length; i++) if (s.columns.e.data[i] === 0) good.push(i);
      good.sort((a, b) => s.sign * (v[a] - v[b]));
      good.slice(0, 100).forEach(take);
    } else {
      for (let i = s.length - 1; i >= 0 && out.length < 100; i--) {
        if (filter === 'failed' && s.columns.e.data[i] < 2) continue;
        take(i);
      }
    }
    return out;
  };
  const fill = () => list.replaceChildren(table([{ title: 'Trial', num: true }, { title: 'After', num: true, small: false }, { title: 'Value', num: true }, { title: '' }, { title: 'Waiting, building, running, cleaning', small: false }, { title: 'In all', num: true, small: false }, { title: 'Configuration', kind: 'wide' }], rows(), 'No such trial yet.'));
  const trials = card('Trials', 'The last hundred; choose one for its whole life.', 'w12', list);
  trials.tools.append(segments('Which trials', [['all', 'Latest'], ['best', 'Best'], ['failed', 'Failed']], filter, (v) => { filter = v; fill(); }));
  const flowCard = card('From proposal to told', 'How many trials are at each step now, how many have passed it, and how long they took. Credits hold back the strategy: nothing piles up.', 'w12', flow);
  const plots = [throughput, time, failures];
  const el = h('div', { class: 'grid' }, h('div', { class: 'w12' }, strip), flowCard, throughput.el, h('div', { class: 'w4', style: { display: 'grid', gap: '16px' } }, time.el, failures.el), trials);
  return { el, update(heavy) { strip.update(); const stages = stageCards(app); flow.style.setProperty('--stages', stages.length > 8 ? 5 : stages.length); flow.replaceChildren(...stages); if (heavy) { fill(); plots.forEach((p) => p.draw()); } } };
}
