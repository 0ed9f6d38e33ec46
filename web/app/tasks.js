// Many tasks: what each has had and what that brought.
import { count, duration, percent, quantity, short, when } from './format.js';
import { h, card, table, chip, scroller } from './dom.js';
import { Plot, frame, extent } from './plot.js';
import { barsPlot } from './charts.js';

const ENDS = { trials: 'trials used', time: 'time over', exhausted: 'space exhausted', no_valid: 'no valid result' };

const gainOf = (s) => {
  const first = s.improvements.length ? s.columns.v.data[s.improvements[0]] : null;
  if (s.head.speedup) return s.head.speedup;
  return first > 0 && s.best > 0 ? (s.sign > 0 ? first / s.best : s.best / first) : null;
};

export function tasksView(app) {
  const list = scroller('Sessions, the table');
  const tasks = card('Sessions', 'A session is a task with a strategy and a seed. Choose one to look at it in the other views.', 'w12', list);
  const spent = (s) => s.head.build_s + s.head.run_s;
  const recent = () => app.view.list.filter((s) => s.length > 0).slice(-20);
  const budget = barsPlot({ title: 'Time spent', width: 'w6', what: 'In builders’ and runners’ hands, by session (the last twenty).', items: (t) => recent().map((s) => [s.label, spent(s), t.series[4], duration(spent(s))]) });
  const gains = barsPlot({ title: 'Gained', width: 'w6', what: 'The best, over the default configuration or, where that was not measured, the first result.', items: (t) => recent().filter((s) => gainOf(s)).map((s) => [s.label, gainOf(s), t.series[2], `${short(gainOf(s))}×`]) });
  /** The weighted sum of the best of each task that is minimised in seconds, from when all have one. */
  const total = () => {
    const by = new Map();
    for (const s of app.view.list) if (s.head.unit === 's' && s.head.goal === 'minimize' && s.improvements.length) by.set(s.head.task, s);
    const all = [...by.values()];
    if (all.length < 2) return null;
    const steps = [];
    all.forEach((s, k) => s.improvements.forEach((i) => steps.push([s.head.started + s.columns.t.data[i], k, s.columns.v.data[i]])));
    steps.sort((a, b) => a[0] - b[0]);
    const best = new Array(all.length).fill(NaN);
    const xs = [];
    const ys = [];
    for (const [t, k, v] of steps) {
      best[k] = v;
      const sum = best.reduce((a, b, i) => a + b * all[i].head.weight, 0);
      if (Number.isFinite(sum)) { xs.push(t - steps[0][0]); ys.push(sum); }
    }
    return { xs, ys, count: all.length };
  };
  const whole = new Plot({ title: 'The whole', width: 'w12', height: 250, what: 'The sum over the tasks of weight times the best time so far, from when each has one.',
    paint(s, w, hh, t) {
      const d = total();
      if (!d || d.xs.length < 2) { s.text('This is shown for two or more tasks that are measured in seconds', w / 2, hh / 2, { colour: t.faint, align: 'center', most: w - 20 }); return null; }
      const [lo, hi] = extent(d.ys);
      const f = frame(s, w, hh, t, { lo: d.xs[0], hi: d.xs[d.xs.length - 1], label: 'time since the first result', fmt: (v) => duration(v) }, { lo, hi, label: 'weighted sum', fmt: (v) => duration(v) });
      s.line(d.xs.map(f.sx), d.ys.map(f.sy), { colour: t.series[0], width: 2, step: true });
      return null;
    },
    data: () => { const d = total(); return [['time_s', 'weighted_total_s'], d ? d.xs.map((x, i) => [x, d.ys[i]]) : []]; } });
  const el = h('div', { class: 'grid' }, tasks, budget.el, gains.el, whole.el);
  return { el, update(heavy) {
    const rows = [...app.view.list].reverse().slice(0, 200);
    list.replaceChildren(table([{ title: 'Task' }, { title: 'Strategy' }, { title: 'State' }, { title: 'Trials', num: true }, { title: 'Best', num: true }, { title: 'Gain', num: true }, { title: 'Spent', num: true, small: false }, { title: 'Weight', num: true, small: false }, { title: 'Started', small: false }],
      rows.map((s) => ({ go: () => app.choose(s.number), label: s.label, cells: [s === app.session() ? h('b', { text: s.head.task }) : s.head.task, `${s.head.strategy} · ${s.head.seed}`, s.head.ended ? chip(ENDS[s.head.reason] ?? s.head.reason) : chip('running', 'info'), count(s.head.proposed), quantity(s.best, s.head.unit), gainOf(s) ? `${short(gainOf(s))}×` : '–', duration(spent(s)), short(s.head.weight), when(s.head.started)] })), 'No session yet.'));
    whole.el.style.display = total() ? '' : 'none';
    if (heavy) { budget.draw(); gains.draw(); whole.draw(); }
  } };
}
