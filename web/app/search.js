// Where the search stands and where it has looked.
import { count, duration, percent, quantity, short, valueText, configText } from './format.js';
import { h, card, segments, selectBox, table, scroller } from './dom.js';
import { Plot, frame, ramp, extent, tipLines } from './plot.js';
import { valuesPlot, barsPlot, columnsPlot } from './charts.js';
import { parallelPlot, brushMask } from './parallel.js';
import { Forest } from './forest.js';
import { kendall } from './stats.js';
import { summaryStrip } from './pipeline.js';

/** The rows with a value, or with the bound at which they were stopped; at most `most`, spread evenly. */
function sample(session, most) {
  const e = session.col('e');
  const rows = [];
  for (let i = 0; i < session.length; i++) if (e[i] <= 1) rows.push(i);
  const step = rows.length / Math.min(rows.length, most);
  const chosen = [];
  for (let k = 0; k < rows.length && chosen.length < most; k += step) chosen.push(rows[Math.floor(k)]);
  return chosen;
}

function table_of(session, rows) {
  const columns = session.names.map((_, i) => { const place = session.order(i).place; const p = session.param(i); return Uint16Array.from(rows, (r) => place[p[r]]); });
  const sizes = session.values.map((v) => v.length);
  const v = session.col('v');
  const positive = rows.every((r) => v[r] > 0);
  return { columns, sizes, y: Float64Array.from(rows, (r) => (positive ? Math.log(v[r]) : v[r])), positive };
}

export function searchView(app) {
  let axis = 'n';
  const brush = {
    set: new Map(), mask: null,
    put(name, range) { if (range) brush.set.set(name, range); else brush.set.delete(name); schedule(); },
    clear() { brush.set.clear(); schedule(); },
  };
  let waiting = false;
  let resting = null;
  const schedule = () => { if (!waiting) { waiting = true; requestAnimationFrame(() => { waiting = false; rebrush(); }); } };
  const chosen = h('div', { class: 'tools' });
  const parallel = parallelPlot(app, brush);
  parallel.el.tools.prepend(chosen);
  const rebrush = () => {
    const began = performance.now();
    const a = parallel.axesOf();
    brush.mask = a ? brushMask(a, brush.set) : null;
    parallel.draw();
    heat.draw();
    said();
    app.brushTook = performance.now() - began;
    // The points follow when the brush rests.
    clearTimeout(resting);
    resting = setTimeout(() => values.draw(), app.session()?.length > 3000 ? 160 : 0);
  };
  const said = () => {
    if (!brush.mask) { chosen.replaceChildren(); return; }
    const s = app.session();
    let n = 0;
    let best = -1;
    for (let i = 0; i < brush.mask.length; i++) if (brush.mask[i]) { n++; if (s.columns.e.data[i] === 0 && (best < 0 || s.better(s.columns.v.data[i], s.columns.v.data[best]))) best = i; }
    chosen.replaceChildren(h('span', { class: 'chip info', role: 'status', text: `${count(n)} ${n === 1 ? 'trial' : 'trials'}${best >= 0 ? `, best ${quantity(s.columns.v.data[best], s.head.unit)}` : ''}` }),
      best >= 0 ? h('button', { type: 'button', class: 'icon-button', onclick: () => app.openTrial(s.number, s.columns.n.data[best]) }, 'Show it') : null,
      h('button', { type: 'button', class: 'icon-button', onclick: () => brush.clear() }, 'Clear'));
  };
  const values = valuesPlot(app, { axis: () => axis, brushed: () => brush.mask });
  values.el.tools.prepend(segments('Against', [['n', 'Trials'], ['t', 'Time']], axis, (v) => { axis = v; values.draw(); }));

  // The heat map.
  let hx = null;
  let hy = null;
  let shows = 'best';
  const axesNow = () => parallel.axesOf()?.axes.filter((a) => !a.value) ?? [];
  const heatTools = h('div', { class: 'tools' });
  const cells = () => {
    const a = parallel.axesOf();
    const x = a?.axes.find((k) => k.name === hx);
    const y = a?.axes.find((k) => k.name === hy);
    if (!x || !y) return null;
    const s = a.session;
    const v = s.col('v');
    const e = s.col('e');
    const n = new Uint32Array(x.size * y.size);
    const ok = new Uint32Array(n.length);
    const value = new Float64Array(n.length).fill(NaN);
    const bound = new Float64Array(n.length).fill(NaN); // of what was stopped early
    for (let r = 0; r < a.rows; r++) {
      if (brush.mask && !brush.mask[r]) continue;
      const k = y.at[r] * x.size + x.at[r];
      n[k]++;
      if (e[r] === 1 && (Number.isNaN(bound[k]) || s.better(v[r], bound[k]))) bound[k] = v[r];
      if (e[r] !== 0) continue;
      ok[k]++;
      if (shows === 'mean') value[k] = (Number.isNaN(value[k]) ? 0 : value[k]) + v[r];
      else if (Number.isNaN(value[k]) || s.better(v[r], value[k])) value[k] = v[r];
    }
    if (shows === 'mean') for (let k = 0; k < n.length; k++) value[k] /= ok[k];
    if (shows === 'count') for (let k = 0; k < n.length; k++) value[k] = n[k] || NaN;
    return { x, y, n, value, bound, s };
  };
  const boundText = (d, k) => `${d.s.sign > 0 ? '≥' : '≤'} ${quantity(d.bound[k], d.s.head.unit)}`;
  const heat = new Plot({
    title: 'Two parameters', width: 'w6', height: (w) => (w < 520 ? Math.max(280, w * 0.85) : 600),
    what: 'The best, the mean or the number of the trials for each pair of values. Where all were stopped early, the best bound, without a colour; a diagonal marks pairs that only failed.',
    paint(s, w, hh, t) {
      const d = cells();
      if (!d) { s.text('No two parameters to compare yet', w / 2, hh / 2, { colour: t.faint, align: 'center' }); return null; }
      const { x, y } = d;
      const left = Math.min(w * 0.3, Math.max(...Array.from({ length: y.size }, (_, k) => s.measure(y.label(k), 11))) + 26);
      const top = 6;
      const bottom = hh - 62;
      const right = w - 6;
      const cw = (right - left) / x.size;
      const ch = (bottom - top) / y.size;
      let lo = Infinity;
      let hi = -Infinity;
      for (const v of d.value) if (Number.isFinite(v)) { if (v < lo) lo = v; if (v > hi) hi = v; }
      const log = lo > 0 && hi / lo > 8;
      const f = log ? Math.log : (v) => v;
      const low = shows !== 'count' && d.s.sign > 0;
      const tone = (v) => { const k = hi > lo ? (f(v) - f(lo)) / (f(hi) - f(lo)) : 1; return low ? 1 - k : k; };
      for (let j = 0; j < y.size; j++)
        for (let i = 0; i < x.size; i++) {
          const k = j * x.size + i;
          const px = left + i * cw;
          const py = bottom - (j + 1) * ch;
          if (d.n[k] === 0) { s.rect(px, py, cw - 1, ch - 1, { colour: t.grid, radius: 2 }); continue; }
          if (!Number.isFinite(d.value[k]) && Number.isFinite(d.bound[k])) { s.rect(px, py, cw - 1, ch - 1, { colour: t.grid, radius: 2 }); if (cw > 44 && ch > 18) s.text(boundText(d, k), px + cw / 2 - 0.5, py + ch / 2, { colour: t.soft, align: 'center', size: 11, most: cw - 6 }); continue; }
          if (!Number.isFinite(d.value[k])) { s.rect(px, py, cw - 1, ch - 1, { colour: t.grid, radius: 2 }); s.line([px + 2, px + cw - 3], [py + ch - 3, py + 2], { colour: t.bad, width: 1.2 }); continue; }
          const q = tone(d.value[k]);
          s.rect(px, py, cw - 1, ch - 1, { colour: ramp(q), radius: 2 });
          if (cw > 44 && ch > 18) s.text(shows === 'count' ? count(d.value[k]) : quantity(d.value[k], d.s.head.unit), px + cw / 2 - 0.5, py + ch / 2, { colour: q > 0.55 ? '#10202c' : '#ffffff', align: 'center', size: 11, most: cw - 6 });
        }
      const every = Math.max(1, Math.ceil(Math.max(...Array.from({ length: x.size }, (_, k) => s.measure(x.label(k), 11))) * 1.15 / cw));
      for (let i = 0; i < x.size; i += every) s.text(x.label(i), left + (i + 0.5) * cw, bottom + 11, { colour: t.soft, align: 'center', size: 11, most: cw * every - 2 });
      const everyY = Math.max(1, Math.ceil(13 / ch));
      for (let j = 0; j < y.size; j += everyY) s.text(y.label(j), left - 6, bottom - (j + 0.5) * ch, { colour: t.soft, align: 'right', size: 11, most: left - 24 });
      s.text(x.name, (left + right) / 2, bottom + 28, { colour: t.faint, align: 'center' });
      s.text(y.name, 8, (top + bottom) / 2, { colour: t.faint, align: 'center', turn: -Math.PI / 2 });
      // The scale.
      if (hi >= lo) {
        const wide = Math.min(160, (right - left) / 3);
        const x0 = left + Math.max(70, (right - left - wide) / 2);
        for (let i = 0; i < wide; i += 2) s.rect(x0 + i, hh - 17, 2.2, 8, { colour: ramp(low ? 1 - i / wide : i / wide) });
        const say = (v) => (shows === 'count' ? count(v) : quantity(v, d.s.head.unit));
        s.text(say(lo), x0 - 6, hh - 13, { colour: t.soft, align: 'right', size: 11 });
        s.text(say(hi), x0 + wide + 6, hh - 13, { colour: t.soft, size: 11 });
      }
      return { d, left, bottom, cw, ch };
    },
    hit(px, py, { d, left, bottom, cw, ch }) {
      const i = Math.floor((px - left) / cw);
      const j = Math.floor((bottom - py) / ch);
      if (i < 0 || j < 0 || i >= d.x.size || j >= d.y.size) return null;
      const k = j * d.x.size + i;
      return { html: tipLines(`${d.x.name} ${d.x.label(i)}, ${d.y.name} ${d.y.label(j)}`, [[shows, Number.isFinite(d.value[k]) ? (shows === 'count' ? count(d.value[k]) : quantity(d.value[k], d.s.head.unit)) : Number.isFinite(d.bound[k]) ? boundText(d, k) : '–'], ['trials', count(d.n[k])]]),
        go: d.n[k] ? () => { brush.set.set(d.x.name, [i, i]); brush.set.set(d.y.name, [j, j]); schedule(); } : null };
    },
    data() {
      const d = cells();
      if (!d) return [['x', 'y'], []];
      const rows = [];
      for (let j = 0; j < d.y.size; j++) for (let i = 0; i < d.x.size; i++) rows.push([d.x.label(i), d.y.label(j), d.n[j * d.x.size + i], d.value[j * d.x.size + i], d.bound[j * d.x.size + i]]);
      return [[d.x.name, d.y.name, 'trials', shows, 'stopped_at'], rows];
    },
  });
  heat.el.tools.prepend(heatTools);
  const fillHeatTools = () => {
    const names = axesNow().map((a) => a.name);
    const key = names.join();
    if (heatTools.key === key) return;
    heatTools.key = key;
    if (!names.includes(hx)) hx = names[0] ?? null;
    if (!names.includes(hy)) hy = names.find((n) => n !== hx) ?? null;
    heatTools.replaceChildren(selectBox('Across', names.map((n) => [n, n]), hx, (v) => { hx = v; heat.draw(); }), '×', selectBox('Up', names.map((n) => [n, n]), hy, (v) => { hy = v; heat.draw(); }),
      segments('Shows', [['best', 'Best'], ['mean', 'Mean'], ['count', 'Trials']], shows, (v) => { shows = v; heat.draw(); }));
  };

  // What matters, and how predictable it is.
  let learned = null;
  let learning = false;
  const importance = barsPlot({ title: 'What matters', width: 'w6',
    what: 'By how much a random forest’s error outside its bags grows where a parameter is shuffled (permutation importance; Breiman, 2001), as shares. Of at most 2,000 trials; one that was stopped early counts with its bound.',
    note: () => (learned?.importance ? `Explains ${percent(Math.max(0, learned.importance.r2), 0)} of the variance (${count(learned.rows)} trials)` : ''),
    items: (t) => (learned?.importance ? app.session().names.map((n, i) => [n, learned.importance.shares[i], t.series[0], percent(learned.importance.shares[i], 0)]).sort((a, b) => b[1] - a[1]).slice(0, 14) : []) });
  const predicted = new Plot({
    title: 'Predicted before it was measured', width: 'w6', height: 300,
    what: 'A forest that has seen only the trials before a block predicts the block: how well these results could have been ranked. Blocks double in length; what was stopped early stands at its bound.',
    legend: (t) => (learned?.blocks ?? []).map((b, i) => [ramp(learned.blocks.length > 1 ? i / (learned.blocks.length - 1) : 0.5), `after ${count(b.after)}: τ ${short(b.tau, 2)}`]),
    says: () => (learned?.blocks?.length ? `Kendall's tau ${learned.blocks.map((b) => `${short(b.tau, 2)} after ${b.after}`).join(', ')}` : 'Too few trials'),
    paint(s, w, hh, t) {
      if (!learned?.blocks?.length) { s.text(learning ? 'Learning…' : 'Too few trials yet', w / 2, hh / 2, { colour: t.faint, align: 'center' }); return null; }
      const back = (v) => (learned.positive ? Math.exp(v) : v);
      const actual = learned.blocks.flatMap((b) => b.actual.map(back));
      const guess = learned.blocks.flatMap((b) => b.guess.map(back));
      const [lo, hi] = extent([...actual, ...guess], { log: learned.positive });
      const unit = app.session().head.unit;
      const f = frame(s, w, hh, t, { lo, hi, log: learned.positive, label: 'measured', fmt: (v) => quantity(v, unit) }, { lo, hi, log: learned.positive, label: 'predicted', fmt: (v) => quantity(v, unit) });
      s.line([f.sx(lo), f.sx(hi)], [f.sy(lo), f.sy(hi)], { colour: t.faint, width: 1, dash: [4, 4] });
      learned.blocks.forEach((b, i) => s.dots(b.actual.map((v) => f.sx(back(v))), b.guess.map((v) => f.sy(back(v))), { colour: ramp(learned.blocks.length > 1 ? i / (learned.blocks.length - 1) : 0.5), radius: 2.2, alpha: 0.65 }));
      return { f };
    },
    data: () => [['after_trials', 'measured', 'predicted'], (learned?.blocks ?? []).flatMap((b) => b.actual.map((v, i) => (learned.positive ? [b.after, Math.exp(v), Math.exp(b.guess[i])] : [b.after, v, b.guess[i]])))],
  });
  // What the strategy's own model took for the values, where it has one and somebody has watched.
  const FEWEST = 8;
  /** The measured trials that a model had looked at, in their order: blocks of equal number. */
  const foreseen = () => {
    const s = app.session();
    if (!s) return null;
    const m = s.col('m');
    const e = s.col('e');
    const rows = [];
    for (let i = 0; i < s.length; i++) if (e[i] === 0 && Number.isFinite(m[i])) rows.push(i);
    if (rows.length < FEWEST) return null;
    const step = Math.max(FEWEST, Math.ceil(rows.length / 6));
    const v = s.col('v');
    const blocks = [];
    for (let from = 0; from < rows.length; from += step) {
      // A short rest goes with the block before it.
      const to = rows.length - from - step < FEWEST ? rows.length : from + step;
      const some = rows.slice(from, to);
      blocks.push({ rows: some, tau: kendall(some.map((r) => m[r]), some.map((r) => v[r])) });
      if (to === rows.length) break;
    }
    return { s, m, v, rows, blocks, positive: rows.every((r) => m[r] > 0 && v[r] > 0) };
  };
  const toneOf = (i, n) => ramp(n > 1 ? 0.92 * i / (n - 1) : 0.5);
  const own = new Plot({
    title: 'The model’s prediction against the measurement', width: 'w6', height: 320,
    what: 'What the strategy’s model expected of a trial when it was proposed, against what was measured then. Rank quality is Kendall’s τ, block by block in the order of the trials.',
    legend: () => { const d = foreseen(); return d ? d.blocks.map((b, i) => [toneOf(i, d.blocks.length), `trials ${count(d.s.columns.n.data[b.rows[0]])} to ${count(d.s.columns.n.data[b.rows[b.rows.length - 1]])}: τ ${short(b.tau, 2)}`]) : []; },
    says: () => { const d = foreseen(); return d ? `Kendall's tau by block ${d.blocks.map((b) => short(b.tau, 2)).join(', ')}` : 'No prediction'; },
    paint(s, w, hh, t) {
      const d = foreseen();
      if (!d) { s.text('No prediction yet', w / 2, hh / 2, { colour: t.faint, align: 'center' }); return null; }
      // Of expectations that are far off, the axis shows as much as of the measurements.
      const [lo, hi] = extent(d.rows.map((r) => d.v[r]), { log: d.positive });
      const clip = (x) => Math.min(hi, Math.max(lo, x));
      const unit = d.s.head.unit;
      const f = frame(s, w, hh, t, { lo, hi, log: d.positive, label: 'measured', fmt: (v) => quantity(v, unit) }, { lo, hi, log: d.positive, label: 'expected', fmt: (v) => quantity(v, unit) });
      s.line([f.sx(lo), f.sx(hi)], [f.sy(lo), f.sy(hi)], { colour: t.faint, width: 1, dash: [4, 4] });
      d.blocks.forEach((b, i) => s.dots(b.rows.map((r) => f.sx(d.v[r])), b.rows.map((r) => f.sy(clip(d.m[r]))), { colour: toneOf(i, d.blocks.length), radius: d.rows.length > 1500 ? 1.6 : 2.6, alpha: 0.75 }));
      return { f, d, clip };
    },
    hit(x, y, { f, d, clip }) {
      let found = -1;
      let near = 100;
      for (const r of d.rows) { const k = (f.sx(d.v[r]) - x) ** 2 + (f.sy(clip(d.m[r])) - y) ** 2; if (k < near) { near = k; found = r; } }
      return found < 0 ? null : { html: tipLines(`Trial ${count(d.s.columns.n.data[found])}`, [['expected', quantity(d.m[found], d.s.head.unit, 4)], ['measured', quantity(d.v[found], d.s.head.unit, 4)]]), go: () => app.openTrial(d.s.number, d.s.columns.n.data[found]) };
    },
    data: () => { const d = foreseen(); return [['trial', 'expected', 'measured', 'explores'], d ? d.rows.map((r) => [d.s.columns.n.data[r], d.m[r], d.v[r], d.s.columns.x.data[r] === 2 ? 1 : 0]) : []]; },
  });
  const share = columnsPlot({
    title: 'Offline and online', width: 'w6', height: 320,
    what: 'Whose idea the trials were: chosen by the model out of the many that it was asked about without measuring (offline), or measured to learn from them (online): the start, moves and draws without a model’s word.',
    yLabel: 'share', yFmt: (v) => percent(v, 0),
    make(t, w = 700) {
      const one = app.session();
      if (!one || one.length < 2) return null;
      const n = Math.max(4, Math.min(40, Math.floor(w / 18), Math.floor(one.length / 2)));
      const x = one.col('x');
      const bins = [new Float64Array(n), new Float64Array(n)];
      const all = new Float64Array(n);
      for (let i = 0; i < one.length; i++) { const k = Math.min(n - 1, Math.floor(i / one.length * n)); bins[x[i] === 1 ? 0 : 1][k]++; all[k]++; }
      for (const b of bins) for (let k = 0; k < n; k++) b[k] /= Math.max(1, all[k]);
      return { lo: 1, hi: one.length, fmt: (v) => count(Math.round(v)), label: 'trials', series: [['chosen by the model (offline)', t.series[6] ?? '', bins[0]], ['measured to learn (online)', t.series[0] ?? '', bins[1]]] };
    },
  });
  const breathe = () => new Promise((go) => setTimeout(go, 0));
  const learn = async () => {
    const s = app.session();
    if (!s || learning) return;
    const size = s.length;
    if (learned && learned.session === s && size < learned.size * 1.25 && learned.size > 0) return;
    learning = true;
    const out = { session: s, size, importance: null, blocks: [] };
    const all = sample(s, 2000);
    if (all.length >= 24 && s.names.length > 0) {
      const d = table_of(s, all);
      out.rows = all.length;
      out.positive = d.positive;
      await breathe();
      const forest = new Forest(d.columns, d.sizes, d.y, { trees: 24 });
      await breathe();
      out.importance = forest.importance(d.y);
      // In the order of the trials, each block by what came before it.
      const e = s.col('e');
      const inOrder = [];
      for (let i = 0; i < s.length && inOrder.length < 4096; i++) if (e[i] <= 1) inOrder.push(i);
      const whole = table_of(s, inOrder);
      out.positive = whole.positive && d.positive;
      for (let after = 16; after + 8 <= inOrder.length; after *= 2) {
        await breathe();
        const seen = whole.columns.map((c) => c.subarray(0, after));
        const model = new Forest(seen, whole.sizes, whole.y.subarray(0, after), { trees: 16 });
        const guess = [];
        const actual = [];
        for (let i = after; i < Math.min(after * 2, inOrder.length); i++) { guess.push(model.predict(whole.columns, i)); actual.push(whole.y[i]); }
        out.blocks.push({ after, guess, actual, tau: kendall(guess, actual) });
      }
    }
    learning = false;
    if (app.session() !== s) { learn(); return; }
    learned = out;
    importance.draw();
    predicted.draw();
  };

  const finals = scroller('Measured side by side, the table');
  const finalsCard = card('Measured side by side', 'At the end the best run again, in turns, before a winner is named.', 'w12', finals);
  const strip = summaryStrip(app);
  const how = h('section', { class: 'card w4', 'aria-label': 'The search' });
  const fillHow = () => {
    const s = app.session();
    if (!s) return;
    const hd = s.head;
    const fact = (k, v) => [h('dt', { text: k }), h('dd', {}, v)];
    how.replaceChildren(h('header', {}, h('div', { class: 'text' }, h('h2', { text: 'The search' }))),
      h('dl', { class: 'facts' }, fact('Strategy', `${hd.strategy}, seed ${hd.seed}`), fact('Goal', `${hd.goal} ${hd.metric || 'value'}${hd.unit ? ` (${hd.unit})` : ''}`), fact('Workload', h('code', { text: configText(hd.workload ?? {}) || '–' })),
        fact('Values tried', s.names.map((n, i) => `${n} (${s.values[i].length})`).join(', ') || '–'),
        fact('Last improvement', s.bestRow >= 0 ? `trial ${count(s.columns.n.data[s.bestRow])}, after ${duration(s.columns.t.data[s.bestRow])}` : '–'),
        fact('Improvements', count(s.improvements.length)),
        hd.time_s ? fact('The strategy’s own time', duration(hd.time_s.search)) : null,
        fact('Session', h('code', { text: (hd.id || '–').slice(0, 16) }))),
      h('h3', { class: 'label', text: 'Best configuration', style: { 'font-size': '12.5px', color: 'var(--soft)', margin: '12px 0 5px' } }),
      h('div', { class: 'config' }, Object.entries(hd.best_config ?? {}).map(([k, v]) => h('span', {}, h('em', { text: `${k} ` }), h('b', { text: valueText(v) })))));
  };
  const el = h('div', { class: 'grid' }, h('div', { class: 'w12' }, strip), values.el, how, parallel.el, heat.el, h('div', { class: 'w6', style: { display: 'grid', gap: '16px' } }, importance.el, predicted.el), own.el, share.el, finalsCard);
  let shown = null;
  return { el, update(heavy) {
    const s = app.session();
    if (s !== shown) { shown = s; brush.set.clear(); brush.mask = null; learned = null; said(); }
    strip.update();
    if (!heavy) return;
    const a = parallel.axesOf();
    if (a) brush.mask = brushMask(a, brush.set);
    fillHow();
    fillHeatTools();
    values.draw();
    parallel.draw();
    heat.draw();
    said();
    importance.draw();
    predicted.draw();
    const models = foreseen() !== null;
    own.el.style.display = share.el.style.display = models ? '' : 'none';
    if (models) { own.draw(); share.draw(); }
    learn();
    const rows = s?.head.side_by_side ?? [];
    finalsCard.style.display = rows.length ? '' : 'none';
    finals.replaceChildren(table([{ title: 'Trial', num: true }, { title: 'Value', num: true }, { title: 'Spread', num: true }, { title: 'Rounds', num: true }, { title: '' }, { title: 'Configuration', kind: 'wide' }],
      rows.map((r) => ({ go: () => app.openTrial(s.number, r.trial), label: `Trial ${r.trial}`, cells: [count(r.trial), quantity(r.value, s.head.unit, 4), `±${percent(r.spread, 2)}`, count(r.rounds), [r.winner ? h('span', { class: 'chip good', text: 'winner' }) : null, r.tied ? h('span', { class: 'chip', text: 'tied' }) : null, r.default ? h('span', { class: 'chip info', text: 'default' }) : null], h('code', { text: configText(r.config) })] }))));
  } };
}
