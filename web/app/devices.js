// Places, what they do, and what the machine does to measurements.
import { count, duration, percent, short, quantity } from './format.js';
import { h, card, table, chip, segments, scroller } from './dom.js';
import { Plot, frame, extent, tipLines, scale } from './plot.js';
import { trialTip } from './charts.js';
import { quantile, sortedNumbers } from './stats.js';
import { ticks } from './format.js';

export function devicesView(app) {
  const places = scroller('Places, the table');
  const placesCard = card('Places', 'Slots run and time, one trial each; builders build.', 'w12', places);

  // Of a hub: the devices of its agents, and the jobs of its clients.
  const fleet = scroller('The fleet, the table');
  const fleetCard = card('The fleet', 'The devices whose agents have come to this hub.', 'w8', fleet);
  const jobs = scroller('Jobs, the table');
  const jobsCard = card('Jobs', 'What clients have sent, under way.', 'w4', jobs);
  const STATES = { ready: 'good', draining: 'info', lost: 'bad', banned: 'bad' };
  const fillFleet = () => {
    const f = app.view.fleet;
    fleetCard.style.display = jobsCard.style.display = f ? '' : 'none';
    if (!f) return;
    fleet.replaceChildren(table([{ title: 'Device' }, { title: 'State' }, { title: 'Busy', num: true }, { title: 'Heard', num: true, small: false }, { title: 'Noise', num: true, small: false }, { title: 'Runs', num: true }, { title: 'Lost', num: true, small: false }, { title: 'Runs now, or its last error', kind: 'wrap', small: false }],
      f.devices.map((d) => ({ cells: [h('b', { text: d.name, title: `${Object.entries(d.labels).map(([k, v]) => `${k}=${v}`).join(' ')} ${d.address}` }), chip(d.state, STATES[d.state] ?? ''), `${count(d.busy)} of ${count(d.slots)}`, d.heard_s === null ? '–' : `${duration(d.heard_s)} ago`, d.noise === null ? '–' : `±${percent(d.noise)}`, count(d.runs), count(d.lost), d.holds.length ? h('code', { text: d.holds.join('; ') }) : d.error ? chip(d.error, 'bad') : ''] })), 'No agent has come yet: attune agent --hub ADDR:PORT'));
    jobs.replaceChildren(table([{ title: 'Job', kind: 'wrap' }], [...f.jobs.map((j) => ({ cells: [j] })), ...f.quarantined.map((q) => ({ cells: [[chip('quarantined', 'bad'), ' ', q]] }))], 'No job is under way.'));
  };

  /** What the timeline shows: of a live session what the monitor saw, else what the records say of the runs. */
  const spans = () => {
    const s = app.session();
    if (!s) return null;
    const names = app.view.doc.places.map((p) => p.name);
    const live = app.view.spans.filter((x) => x[3] === s.number);
    if (live.length) {
      const end = Math.max(...live.map((x) => x[6]));
      const begin = Math.max(Math.min(...live.map((x) => x[5])), end - windowSeconds(live, end));
      return { lanes: live.filter((x) => x[6] >= begin).map((x) => ({ lane: names[x[0]] ?? '?', run: x[1] === 1, why: x[2], trial: x[4], from: x[5] - begin, to: x[6] - begin })), length: end - begin };
    }
    const lanes = [];
    const last = s.length;
    for (let i = Math.max(0, last - 300); i < last; i++) {
      if (s.columns.c.data[i] || !(s.columns.r.data[i] > 0)) continue;
      const end = s.columns.t.data[i] - s.columns.k.data[i];
      lanes.push({ lane: names[s.columns.w.data[i]] ?? 'elsewhere', run: true, why: 0, trial: s.columns.n.data[i], from: end - s.columns.r.data[i], to: end });
    }
    if (!lanes.length) return null;
    const end = Math.max(...lanes.map((l) => l.to));
    const begin = Math.max(Math.min(...lanes.map((l) => l.from)), end - windowSeconds(lanes.map((l) => [0, 0, 0, 0, 0, l.from, l.to]), end));
    return { lanes: lanes.filter((l) => l.to >= begin).map((l) => ({ ...l, from: l.from - begin, to: l.to - begin })), length: end - begin };
  };
  // About the last hundred pieces of work.
  const windowSeconds = (all, end) => { const from = all.map((x) => x[5]).sort((a, b) => b - a); return Math.max(0.01, end - from[Math.min(from.length - 1, 90)]); };
  const WHY = ['', 'finalist', 'measured again', 'reference'];
  const timeline = new Plot({
    title: 'Who does what', width: 'w12',
    height: () => { const d = spans(); return Math.max(90, 40 + 28 * new Set(d?.lanes.map((l) => l.lane)).size); },
    what: 'The last builds and runs, a row for each place. A gap in a slot’s row is time in which nothing was timed.',
    legend: (t) => [[t.series[4], 'building'], [t.series[0], 'running'], [t.series[3], 'reference, finals, again']],
    paint(s, w, hh, t) {
      const d = spans();
      if (!d) { s.text('Nothing has run yet', w / 2, hh / 2, { colour: t.faint, align: 'center' }); return null; }
      const lanes = [...new Set(d.lanes.map((l) => l.lane))].sort();
      const left = Math.min(w * 0.3, Math.max(...lanes.map((l) => s.measure(l, 12))) + 12);
      const sx = scale(0, d.length, left, w - 8);
      for (const v of ticks(0, d.length, Math.floor(w / 110))) {
        s.line([sx(v), sx(v)], [4, hh - 26], { colour: t.grid, width: 1 });
        s.text(duration(v), Math.min(sx(v), w - 20), hh - 14, { colour: t.soft, align: 'center' });
      }
      lanes.forEach((l, i) => { s.text(l, left - 8, 18 + i * 28, { colour: t.soft, align: 'right', size: 12, most: left - 10 }); s.rect(left, 8 + i * 28, w - 8 - left, 20, { colour: t.grid, alpha: 0.5, radius: 3 }); });
      for (const x of d.lanes) {
        const a = sx(Math.max(0, x.from));
        s.rect(a, 9 + lanes.indexOf(x.lane) * 28, Math.max(1, sx(x.to) - a - 0.5), 18, { colour: x.why ? t.series[3] : x.run ? t.series[0] : t.series[4], radius: 2 });
      }
      return { d, lanes, sx };
    },
    hit(x, y, { d, lanes, sx }) {
      const lane = lanes[Math.floor((y - 4) / 28)];
      const at = d.lanes.find((l) => l.lane === lane && sx(Math.max(0, l.from)) - 1 <= x && sx(l.to) + 1 >= x);
      return at ? { html: tipLines(`Trial ${count(at.trial)}`, [['', at.why ? WHY[at.why] : at.run ? 'run' : 'build'], ['for', duration(at.to - at.from)], ['at', at.lane]]), go: () => app.openTrial(app.session().number, at.trial) } : null;
    },
    data: () => { const d = spans(); return [['place', 'what', 'trial', 'from_s', 'to_s'], (d?.lanes ?? []).map((l) => [l.lane, l.run ? 'run' : 'build', l.trial, l.from, l.to])]; },
  });

  const scatter = (title, what, key, colour, fmt, zero) => new Plot({
    title, width: 'w6', height: 250, what,
    paint(s, w, hh, t) {
      const one = app.session();
      const v = one?.col(key);
      const rows = [];
      if (one) for (let i = 0; i < one.length; i++) if (Number.isFinite(v[i]) && !one.columns.c.data[i] && (key === 'd' || v[i] > 0)) rows.push(i);
      if (rows.length < 2) { s.text(key === 'd' ? 'No reference was run' : 'No repeated runs yet', w / 2, hh / 2, { colour: t.faint, align: 'center' }); return null; }
      const sorted = sortedNumbers(rows.map((i) => v[i]));
      const top = zero ? Math.max(quantile(sorted, 0.99) * 1.1, 1e-4) : Math.max(Math.abs(quantile(sorted, 0.01)), Math.abs(quantile(sorted, 0.99)), 0.002) * 1.15;
      const f = frame(s, w, hh, t, { lo: 0, hi: Math.max(1e-9, one.columns.t.data[one.length - 1]), label: 'time since the start', fmt: (x) => duration(x) }, { lo: zero ? 0 : -top, hi: top, fmt });
      if (!zero) s.line([f.left, f.right], [f.sy(0), f.sy(0)], { colour: t.faint, width: 1, dash: [4, 4] });
      const within = rows.filter((i) => Math.abs(v[i]) <= top);
      s.dots(within.map((i) => f.sx(one.columns.t.data[i])), within.map((i) => f.sy(v[i])), { colour: t.series[colour], radius: rows.length > 3000 ? 1.1 : 2.2, alpha: 0.6 });
      return { f, one, rows: within, v };
    },
    hit(x, y, { f, one, rows, v }) {
      let found = -1;
      let near = 100;
      for (const i of rows) { const d = (f.sx(one.columns.t.data[i]) - x) ** 2 + (f.sy(v[i]) - y) ** 2; if (d < near) { near = d; found = i; } }
      return found < 0 ? null : { html: trialTip(one, found), go: () => app.openTrial(one.number, one.columns.n.data[found]) };
    },
    data: () => { const one = app.session(); return [['trial', 'time_s', key === 'd' ? 'drift' : 'spread'], one ? Array.from({ length: one.length }, (_, i) => [one.columns.n.data[i], one.columns.t.data[i], one.columns[key].data[i]]).filter((r) => Number.isFinite(r[2])) : []]; },
  });
  const drift = scatter('Drift of the machine', 'How much slower than at first the reference configuration ran, as it was known when each trial ended.', 'd', 1, (v) => percent(v, 2), false);
  const spread = scatter('Spread of the measurements', 'Half the 95 % interval of the median, as a share of it.', 's', 2, (v) => percent(v, 2), true);
  const decisions = scroller('Decisions and troubles, the table');
  let which = 'all';
  const decisionsCard = card('Decisions and troubles', 'What the controller and the strategies decided, and why; the newest first.', 'w12', decisions);
  decisionsCard.tools.append(segments('Whose', [['all', 'All'], ['machine', 'The machine’s'], ['session', 'This session’s']], which, (v) => { which = v; fill(); }));
  const KINDS = { decided: ['decided', 'info'], finals: ['finals', 'info'], quarantined: ['quarantined', 'bad'], place_went: ['place went', 'bad'], place_stuck: ['place stuck', 'bad'], store_trouble: ['store trouble', 'bad'], store_recovered: ['store recovered', 'good'] };
  const fill = () => {
    const s = app.session();
    const rows = app.view.decisions.filter((d) => which === 'all' || (which === 'session') === (s && d.session === s.number)).slice(-200).reverse();
    decisions.replaceChildren(table([{ title: 'At', num: true }, { title: '' }, { title: 'What and why', kind: 'wrap' }], rows.map((d) => ({ cells: [duration(d.at_s), chip(...(KINDS[d.kind] ?? [d.kind])), d.text] })), app.live ? 'No decision yet.' : 'Decisions are told while a search runs; the store keeps what came of them.'));
  };
  const el = h('div', { class: 'grid' }, fleetCard, jobsCard, placesCard, timeline.el, drift.el, spread.el, decisionsCard);
  return { el, update(heavy) {
    fillFleet();
    const now = app.view.doc.now ?? 0;
    const s = app.session();
    const used = new Map();
    if (s) for (let i = 0; i < s.length; i++) { const w = s.columns.w.data[i]; if (w >= 0 && !s.columns.c.data[i]) { const u = used.get(w) ?? [0, 0]; u[0]++; u[1] += s.columns.r.data[i]; used.set(w, u); } }
    places.replaceChildren(table([{ title: 'Place' }, { title: 'State' }, { title: 'Trial', num: true }, { title: 'For', num: true, small: false }, { title: 'Builds', num: true }, { title: 'Runs', num: true }, { title: 'Busy', num: true }],
      app.view.doc.places.map((p, i) => ({ cells: [p.name, p.stuck ? chip('stuck', 'bad') : p.doing !== 'idle' ? chip(p.doing === 'run' ? 'running' : 'building', 'info') : p.here ? chip('idle') : chip(app.live ? 'gone' : 'recorded'), p.doing !== 'idle' ? count(p.trial) : '', p.doing !== 'idle' ? duration(Math.max(0, now - p.since_s)) : '', app.live ? count(p.builds) : '–', count(p.runs || used.get(i)?.[0] || 0), p.busy_s ? `${duration(p.busy_s)}${now > 0 ? ` (${percent(p.busy_s / now, 0)})` : ''}` : duration(used.get(i)?.[1] ?? 0)] })), 'No place has said that it is there.'));
    if (!heavy) return;
    timeline.draw(); drift.draw(); spread.draw(); fill();
  } };
}
