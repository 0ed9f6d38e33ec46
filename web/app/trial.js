// One trial's whole life, in a drawer.
import { quantity, duration, count, percent, valueText, short } from './format.js';
import { h, chip } from './dom.js';
import { theme } from './plot.js';
import { phaseColours, phaseNames, kindOf } from './charts.js';
import { ENDINGS, endingText } from './data.js';

function findRow(session, trial) {
  const n = session.col('n');
  if (n[trial] === trial) return trial;
  return n.indexOf(trial);
}

const STEP_WORDS = { proposed: 'proposed by the strategy', cache_hit: 'the cache knew it', joined_flight: 'another is measuring it just now', queued: 'given to the scheduler', build_started: 'build begins', built: 'build ended', upload_started: 'the agent fetches it', uploaded: 'the agent has it', run_started: 'run begins', ran: 'run ended', retried: 'to be tried again', quarantined: 'not tried again', recorded: 'on the disk', told: 'the strategy knows', estimated: 'estimated, not measured' };

function samplesStrip(samples, unit, t) {
  if (!samples || samples.length < 2) return null;
  const lo = Math.min(...samples);
  const hi = Math.max(...samples);
  const svg = h('svg:svg', { viewBox: '0 0 480 34', width: '100%', role: 'img', 'aria-label': `${samples.length} samples from ${quantity(lo, unit)} to ${quantity(hi, unit)}` });
  svg.append(h('svg:line', { x1: 6, x2: 474, y1: 12, y2: 12, stroke: t.line }));
  for (const v of samples) svg.append(h('svg:circle', { cx: 8 + (hi > lo ? (v - lo) / (hi - lo) : 0.5) * 464, cy: 12, r: 4, fill: t.series[0], opacity: 0.55 }));
  svg.append(h('svg:text', { x: 6, y: 31, fill: t.soft, 'font-size': 11 }, quantity(lo, unit, 4)), h('svg:text', { x: 474, y: 31, fill: t.soft, 'font-size': 11, 'text-anchor': 'end' }, quantity(hi, unit, 4)));
  return svg;
}

function body(app, session, row, life) {
  const t = theme();
  const unit = session.head.unit;
  const out = [];
  const result = life?.result;
  const config = row >= 0 ? session.config(row) : life?.config ?? {};
  out.push(h('section', {}, h('h3', { text: 'Configuration' }), h('div', { class: 'config' }, Object.entries(config).map(([k, v]) => h('span', {}, h('em', { text: `${k} ` }), h('b', { text: valueText(v) }))))));
  const phases = row >= 0 ? { queue: session.columns.q.data[row], build: session.columns.b.data[row], run: session.columns.r.data[row], clean: session.columns.k.data[row] } : result?.phases_s;
  if (phases && Object.values(phases).some((v) => v > 0)) {
    const colours = phaseColours(t);
    const sum = Object.values(phases).reduce((a, b) => a + b, 0);
    out.push(h('section', {}, h('h3', { text: `Where its time went: ${duration(sum)}${life?.cached || (row >= 0 && session.columns.c.data[row]) ? ', when it was measured' : ''}` }),
      h('div', { class: 'phases', style: { height: '14px' } }, Object.entries(phases).map(([k, v]) => h('i', { title: `${phaseNames[k]} ${duration(v)}`, style: { width: `${v / sum * 100}%`, background: colours[k] } }))),
      h('div', { class: 'legend', style: { 'margin-top': '6px' } }, Object.entries(phases).map(([k, v]) => h('span', {}, h('i', { style: { background: colours[k] } }), `${phaseNames[k]} ${duration(v)}`)))));
  }
  if (result?.samples?.length) out.push(h('section', {}, h('h3', { text: `${result.samples.length === 1 ? 'One sample' : `${result.samples.length} samples`}${result.rejected ? `, ${result.rejected} left out` : ''}` }), samplesStrip(result.samples, unit, t), h('p', { class: 'mono' }, result.samples.map((v) => short(unit === 's' ? v * 1e3 : v, 5)).join('  '), unit === 's' ? ' ms' : ` ${unit}`)));
  if (result?.message) out.push(h('section', {}, h('h3', { text: 'Message' }), h('pre', { text: result.message, tabindex: '0' })));
  const facts = [];
  const fact = (k, v) => { if (v !== null && v !== undefined && v !== '') facts.push(h('dt', { text: k }), h('dd', {}, v)); };
  if (result) {
    if (result.failure) fact('Ended with', `${endingText(result.failure)}${result.exit !== undefined ? `, exit status ${result.exit}` : ''}${result.signal !== undefined ? `, signal ${result.signal}` : ''}`);
    if (result.spread !== undefined) fact('Spread', `±${percent(result.spread, 2)} (half the 95 % interval of the median)`);
    fact('Measured at', result.place);
    fact('Ended', result.ended);
    if (result.cpu_s) fact('CPU time', duration(result.cpu_s));
    if (result.peak_bytes) fact('Peak memory', `${short(result.peak_bytes / 1e6)} MB`);
    if (result.metrics) for (const [k, v] of Object.entries(result.metrics)) fact(k, short(v, 5));
    const c = result.conditions;
    if (c) {
      fact('Beside it', `${c.runs_beside} timed runs, ${c.builds_beside} builds`);
      if (c.drift !== null) fact('Drift', `${percent(c.drift, 2)}${c.correction !== 1 ? `, value divided by ${short(c.correction, 5)}` : ''}${c.disturbed ? '; disturbed' : ''}`);
    }
  }
  fact('Key', life?.key ? h('code', { text: life.key }) : null);
  if (facts.length) out.push(h('section', {}, h('h3', { text: 'Facts' }), h('dl', { class: 'facts' }, facts)));
  if (result?.notes?.length) out.push(h('section', {}, h('h3', { text: 'Noticed' }), result.notes.map((n) => h('p', { text: n }))));
  if (life?.steps?.length) {
    const first = life.steps[0].at_s;
    out.push(h('section', {}, h('h3', { text: 'Step by step' }), h('dl', { class: 'facts' }, life.steps.map((s) => [h('dt', { text: `+${duration(s.at_s - first)}` }), h('dd', { text: `${STEP_WORDS[s.kind] ?? s.kind}${s.text ? ` (${s.text})` : ''}` })]))));
  }
  return out;
}

export async function openTrial(app, number, trial) {
  const session = app.view.sessions.get(number);
  if (!session) return;
  const before = document.activeElement;
  const row = findRow(session, trial);
  const close = () => { veil.remove(); drawer.remove(); document.removeEventListener('keydown', keys); before?.focus?.(); };
  const keys = (e) => {
    if (e.key === 'Escape') close();
    if (e.key === 'Tab') {
      const inside = [...drawer.querySelectorAll('button, [tabindex="0"]')];
      if (e.shiftKey && document.activeElement === inside[0]) { inside[inside.length - 1].focus(); e.preventDefault(); } else if (!e.shiftKey && document.activeElement === inside[inside.length - 1]) { inside[0].focus(); e.preventDefault(); }
    }
  };
  const veil = h('div', { class: 'veil', onclick: close });
  let title = `Trial ${count(trial)}`;
  let mark = null;
  if (row >= 0) {
    const kind = kindOf(session, row);
    const e = session.columns.e.data[row];
    mark = h('p', {}, chip(kind === 'failed' ? endingText(ENDINGS[e]) : kind === 'cached' ? 'from the cache' : kind === 'bounded' ? 'stopped early' : 'measured', kind === 'failed' ? 'bad' : kind === 'measured' ? 'info' : ''), ' ', row === session.bestRow ? chip('the best', 'good') : null, ` ${session.label}`);
    if (e <= 1) title += e === 1 ? `: ${session.sign > 0 ? 'at least' : 'at most'} ${quantity(session.columns.v.data[row], session.head.unit, 4)}` : `: ${quantity(session.columns.v.data[row], session.head.unit, 4)}`;
  }
  const inside = h('div', { style: { display: 'contents' } }, body(app, session, row, null));
  const shut = h('button', { type: 'button', class: 'icon-button', onclick: close, 'aria-label': 'Close' }, 'Close');
  const drawer = h('div', { class: 'drawer', role: 'dialog', 'aria-modal': 'true', 'aria-label': title }, h('div', { class: 'drawer-head' }, h('div', {}, h('h2', { text: title }), mark), shut), inside);
  document.body.append(veil, drawer);
  document.addEventListener('keydown', keys);
  shut.focus();
  const life = await app.life(number, trial);
  if (drawer.isConnected && life) inside.replaceChildren(...body(app, session, row, life));
}
