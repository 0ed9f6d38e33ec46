// What was known already, and what that saved.
import { count, percent, bytes, duration, short, when, valueText } from './format.js';
import { h, card, table, scroller } from './dom.js';
import { Plot, frame } from './plot.js';
import { barsPlot } from './charts.js';

const CAUSES = { new: 'never measured', target: 'another target', source: 'sources changed', method: 'measured otherwise', evicted: 'evicted', stopped_early: 'known only to be stopped early' };

export function cacheView(app) {
  const kpis = h('div', { class: 'kpis' });
  const kpi = (label, value, note) => h('div', { class: 'kpi' }, h('div', { class: 'label', text: label }), h('div', { class: 'value', text: value }), h('div', { class: 'note', text: note, title: note }));

  /** The rate of hits up to each row and over the last few, thinned to what a screen shows. */
  const series = () => {
    const s = app.session();
    if (!s || s.length < 2) return null;
    const c = s.col('c');
    const window = Math.max(10, Math.min(100, Math.floor(s.length / 10)));
    const step = Math.max(1, Math.floor(s.length / 800));
    const out = { x: [], whole: [], last: [], at: [], gain: [], got: [], window };
    let all = 0; // seconds of building and running, with what the cache saved
    let spent = 0;
    let hits = 0;
    let near = 0;
    for (let i = 0; i < s.length; i++) {
      hits += c[i];
      near += c[i] - (i >= window ? c[i - window] : 0);
      const took = s.columns.b.data[i] + s.columns.r.data[i];
      all += took;
      if (!c[i]) spent += took;
      if (i % step && i !== s.length - 1) continue;
      out.x.push(i + 1);
      out.whole.push(hits / (i + 1));
      out.last.push(near / Math.min(window, i + 1));
      // Of the first few trials these say nothing.
      if (i + 1 < window) continue;
      out.at.push(i + 1);
      out.gain.push(1 / Math.max(1e-3, 1 - hits / (i + 1)));
      out.got.push(spent > 0 ? Math.min(1e3, all / spent) : 1);
    }
    return out;
  };
  const none = (s, w, hh, t) => { s.text('Too few trials yet', w / 2, hh / 2, { colour: t.faint, align: 'center' }); return null; };
  const hits = new Plot({ title: 'Hit rate', width: 'w6', height: 240, what: 'The share of this session’s trials that the cache answered: of all so far, and of the last ones.',
    legend: (t) => [[t.series[0], 'of all so far', true], [t.series[4], `of the last ${series()?.window ?? ''}`, true]],
    paint(s, w, hh, t) {
      const d = series();
      if (!d) return none(s, w, hh, t);
      const f = frame(s, w, hh, t, { lo: 1, hi: d.x[d.x.length - 1], label: 'trials', fmt: count }, { lo: 0, hi: 1.02, label: 'known', fmt: (v) => percent(v, 0) });
      s.line(d.x.map(f.sx), d.last.map(f.sy), { colour: t.series[4], width: 1.25, alpha: 0.9 });
      s.line(d.x.map(f.sx), d.whole.map(f.sy), { colour: t.series[0], width: 2 });
      return null;
    },
    data: () => { const d = series(); return [['trials', 'hit_rate', 'hit_rate_lately'], d ? d.x.map((x, i) => [x, d.whole[i], d.last[i]]) : []]; } });
  const gain = new Plot({ title: 'What the hits gain', width: 'w6', height: 240, what: 'A search that finds a share h of its trials known is expected to need 1 ÷ (1 − h) times less measuring. Got: the time of building and running that all trials stand for, over the time that was spent.',
    legend: (t) => [[t.series[2], 'expected: 1 ÷ (1 − h)', true], [t.series[0], 'got, in time', true]],
    paint(s, w, hh, t) {
      const d = series();
      if (!d) return none(s, w, hh, t);
      const top = Math.max(1.2, ...d.gain, ...d.got);
      const f = frame(s, w, hh, t, { lo: 1, hi: d.x[d.x.length - 1], label: 'trials', fmt: count }, { lo: 1, hi: top * 1.03, log: top > 20, label: 'gain', fmt: (v) => `${short(v)}×` });
      s.line(d.at.map(f.sx), d.got.map(f.sy), { colour: t.series[0], width: 1.5, alpha: 0.9 });
      s.line(d.at.map(f.sx), d.gain.map(f.sy), { colour: t.series[2], width: 2 });
      return null;
    },
    data: () => { const d = series(); return [['trials', 'expected_gain', 'gain_in_time'], d ? d.at.map((x, i) => [x, d.gain[i], d.got[i]]) : []]; } });
  const misses = barsPlot({ title: 'Misses by cause', width: 'w4', what: 'Of the whole store, since it was made.', items: (t) => Object.entries(app.view.store?.cache.misses ?? {}).filter((m) => m[1] > 0).sort((a, b) => b[1] - a[1]).map(([k, n]) => [CAUSES[k] ?? k, n, t.series[1], count(n)]) });
  /** By place: how many trials ran there, and their seconds in queues, builds and runs. */
  const places = () => {
    const s = app.session();
    const sums = new Map();
    if (!s) return [];
    const { c, w, q, b, r } = s.columns;
    for (let i = 0; i < s.length; i++) {
      if (c.data[i] || w.data[i] < 0) continue;
      const one = sums.get(w.data[i]) ?? { n: 0, queue: 0, build: 0, run: 0 };
      one.n++; one.queue += q.data[i]; one.build += b.data[i]; one.run += r.data[i];
      sums.set(w.data[i], one);
    }
    return [...sums].map(([w, one]) => ({ name: app.view.doc.places[w]?.name ?? `place ${w}`, ...one })).sort((x, y) => (x.name < y.name ? -1 : 1));
  };
  const isLocal = (p) => p.name.startsWith('local/');
  /** Where both are: what ran here and what ran elsewhere, each as one, before the places. */
  const costs = () => {
    const all = places();
    const sum = (name, some) => some.reduce((a, p) => ({ name, n: a.n + p.n, queue: a.queue + p.queue, build: a.build + p.build, run: a.run + p.run, sum: true }), { n: 0, queue: 0, build: 0, run: 0 });
    const here = all.filter(isLocal);
    const away = all.filter((p) => !isLocal(p));
    return [...(here.length && away.length ? [sum(`this machine (${here.length})`, here), sum(`elsewhere (${away.length})`, away)] : []), ...all];
  };
  const cost = scroller('What a trial costs, by place, the table');
  const costCard = card('What a trial costs, by place', 'Time waiting, in a builder’s and in a runner’s hands, of the trials that ran there; where some ran here and some elsewhere, both as one first.', 'w8', cost);
  const tasks = scroller('What the store holds, the table');
  const tasksCard = card('What the store holds', 'By task, in the order of their first record.', 'w12', tasks);
  const plots = [hits, gain, misses];
  const el = h('div', { class: 'grid' }, h('div', { class: 'w12' }, kpis), hits.el, gain.el, misses.el, costCard, tasksCard);
  return { el, update(heavy) {
    const s = app.session();
    const st = app.view.store;
    const rate = s && s.head.proposed ? s.head.cached / s.head.proposed : null;
    const all = st ? st.cache.hits + Object.values(st.cache.misses).reduce((a, b) => a + b, 0) : 0;
    kpis.replaceChildren(
      kpi('Hit rate, this session', percent(rate), s ? `${count(s.head.cached)} of ${count(s.head.proposed)}` : ''),
      kpi('Expected gain', rate === null ? '–' : rate >= 1 ? 'all known' : `${short(1 / (1 - rate))}×`, '1 ÷ (1 − h)'),
      ...(st ? [
        kpi('Hit rate, the store', percent(all ? st.cache.hits / all : null), `${count(st.cache.hits)} of ${count(all)} lookups`),
        kpi('Saved', duration(st.cache.saved_s), st.cache.spent_s > 0 ? `${short(1 + st.cache.saved_s / st.cache.spent_s)}× measured gain; spent ${duration(st.cache.spent_s)}` : 'of building and running'),
        kpi('Cache entries', count(st.cache.entries), `${bytes(st.cache.bytes)}, ${count(st.cache.evicted)} evicted`),
        kpi('Records', count(st.records), `${bytes(st.bytes)} on disk, ${count(st.failures)} failures`)] : []));
    if (!heavy) return;
    plots.forEach((p) => p.draw());
    cost.replaceChildren(table([{ title: 'Place' }, { title: 'Trials', num: true }, { title: 'Wait, each', num: true, small: false }, { title: 'Build, each', num: true }, { title: 'Run, each', num: true }, { title: 'Build + run', num: true }],
      costs().map((p) => ({ cells: [p.sum ? h('b', { text: p.name }) : p.name, count(p.n), duration(p.queue / p.n), duration(p.build / p.n), duration(p.run / p.n), duration(p.build + p.run)] })), 'Nothing was measured in this session.'));
    tasks.replaceChildren(table([{ title: 'Task' }, { title: 'Workload', kind: 'wide' }, { title: 'Records', num: true }, { title: 'Failures', num: true, small: false }, { title: 'Hit rate', num: true }, { title: 'Size', num: true, small: false }, { title: 'Last record', small: false }],
      (st?.by_task ?? []).map((t) => ({ cells: [t.task, h('code', { text: Object.entries(t.workload).map(([k, v]) => `${k}=${valueText(v)}`).join(' ') }), count(t.records), count(t.failures), percent(t.hits + t.misses ? t.hits / (t.hits + t.misses) : null), bytes(t.bytes), when(t.last)] })), 'No store is open.'));
  } };
}
