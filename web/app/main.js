// The page: where the data comes from, which view is shown, keys, theme.
import { count } from './format.js';
import { h, icon } from './dom.js';
import { redrawAll, forgetPlots } from './plot.js';
import { View } from './data.js';
import { openTrial } from './trial.js';
import { pipelineView } from './pipeline.js';
import { cacheView } from './cache.js';
import { searchView } from './search.js';
import { devicesView } from './devices.js';
import { tasksView } from './tasks.js';
import { compareView } from './compare.js';

const VIEWS = [
  ['pipeline', 'Pipeline', pipelineView, 'M4 6h5v5H4zM15 13h5v5h-5zM9 8.5h4.5a2 2 0 0 1 2 2V13'],
  ['cache', 'Cache', cacheView, 'M5 6c0-1.7 3.1-3 7-3s7 1.3 7 3-3.1 3-7 3-7-1.3-7-3zM5 6v12c0 1.7 3.1 3 7 3s7-1.3 7-3V6M5 12c0 1.7 3.1 3 7 3s7-1.3 7-3'],
  ['search', 'Search', searchView, 'M4 5v14h16M7.5 9.5l3.5 4 3-1.5 5 3.5'],
  ['devices', 'Devices', devicesView, 'M7 7h10v10H7zM10 3v4M14 3v4M10 17v4M14 17v4M3 10h4M3 14h4M17 10h4M17 14h4'],
  ['tasks', 'Tasks', tasksView, 'M9 6h11M9 12h11M9 18h11M4 6h.5M4 12h.5M4 18h.5'],
  ['compare', 'Compare', compareView, 'M4 17c4 0 4-10 8-10s4 6 8 6M4 12c4 0 5 5 8 5s4-9 8-9']];

const view = new View();
const inlined = document.getElementById('attune-view');
const extra = inlined ? JSON.parse(document.getElementById('attune-extra').textContent) : null;
let session = null;
let picked = false;
let current = null;
let shown = null;

const app = {
  view, live: !inlined,
  session: () => session,
  choose(number) { session = view.sessions.get(Number(number)) ?? session; picked = true; fillPicker(); refresh(true); },
  openTrial: (number, trial) => openTrial(app, number, trial),
  async life(number, trial) {
    if (extra) return extra.lives[`${number}/${trial}`] ?? null;
    try {
      const r = await fetch(`/api/trial?session=${number}&trial=${trial}`);
      return r.ok ? await r.json() : null;
    } catch { return null; }
  },
};
window.attune = app; // for whoever looks at the page from its console

// The frame.
const dot = h('i', { class: 'dot' });
const liveText = h('span', {});
const picker = h('select', { 'aria-label': 'Session', onchange: (e) => app.choose(e.target.value) });
const nav = h('nav', { class: 'nav', 'aria-label': 'Views' }, VIEWS.map(([id, name, , path], i) => h('button', { type: 'button', 'data-view': id, title: `${name} (${i + 1})`, onclick: () => { location.hash = id; } }, icon(path), name)));
const logo = () => { const s = h('svg:svg', { viewBox: '0 0 32 32', 'aria-hidden': 'true' }); s.append(h('svg:rect', { width: 32, height: 32, rx: 8, fill: 'var(--accent)' }), h('svg:path', { d: 'M6 22c4 0 4-12 10-12s4 9 10 9', fill: 'none', stroke: 'var(--accent-ink)', 'stroke-width': 2.8, 'stroke-linecap': 'round' }), h('svg:circle', { cx: 16, cy: 10, r: 2.6, fill: 'var(--accent-ink)' })); return s; };
const themeButton = h('button', { type: 'button', class: 'icon-button', onclick: () => setTheme(document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark') });
const title = h('h1', {});
const subtitle = h('p', { class: 'sub' });
const banner = h('div', { class: 'banner', role: 'alert', style: { display: 'none' } });
const place = h('div', {});
const main = h('main', { class: 'content', id: 'main', tabindex: '-1' }, h('div', { class: 'top' }, h('div', { class: 'grow' }, title, subtitle), h('label', { class: 'pick' }, h('span', { class: 'hide-small' }, 'Session'), picker)), banner, place);

function setTheme(name) {
  document.documentElement.dataset.theme = name;
  try { localStorage.setItem('attune-theme', name); } catch { /* a file of its own has no storage */ }
  themeButton.textContent = name === 'dark' ? 'Light' : 'Dark';
  themeButton.setAttribute('aria-label', `Change to the ${name === 'dark' ? 'light' : 'dark'} theme`);
  refresh(true);
}

function fillPicker() {
  const all = view.list;
  const key = all.map((s) => `${s.number}${s.head.ended}${s.label}`).join() + (session?.number ?? '');
  if (picker.key === key) return;
  picker.key = key;
  picker.replaceChildren(...[...all].reverse().map((s) => h('option', { value: s.number, selected: s === session }, `${s.label}${s.head.ended ? '' : ' (running)'}${all.filter((x) => x.label === s.label).length > 1 && s.head.id ? ` · ${s.head.id.slice(0, 6)}` : ''}`)));
  picker.disabled = all.length < 2;
}

function pickSession() {
  if (picked && session && view.sessions.has(session.number)) { session = view.sessions.get(session.number); return; }
  const all = view.list;
  session = all.findLast((s) => !s.head.ended && s.total) ?? all.findLast((s) => s.total) ?? all[all.length - 1] ?? null;
}

function show(id) {
  const found = VIEWS.find((v) => v[0] === id) ?? VIEWS[0];
  if (current === found[0]) return;
  current = found[0];
  for (const b of nav.children) if (b.dataset.view === current) b.setAttribute('aria-current', 'page'); else b.removeAttribute('aria-current');
  forgetPlots();
  shown = found[2](app);
  place.replaceChildren(shown.el);
  document.title = `${found[1]} · ${session ? session.head.task : 'Attune'}`;
  refresh(true);
}

let unreadable = ''; // of a report
let lastHeavy = 0;
let waiting = null;
function refresh(now = false) {
  if (!shown) return;
  title.textContent = session ? session.head.task : 'Attune';
  subtitle.textContent = session ? `${session.head.strategy}, seed ${session.head.seed}${session.head.target?.device ? ` · ${session.head.target.device}` : ''}${session.head.left_out ? ` · ${count(session.head.left_out)} of the trials are counted, not shown` : ''}` : app.live ? 'No session yet; this page follows when one begins.' : 'No session';
  const trouble = unreadable || view.doc.trouble || (view.doc.counts?.lost ? `${count(view.doc.counts.lost)} events came faster than they could be taken in; counts of the steps are too low.` : '');
  banner.textContent = trouble;
  banner.style.display = trouble ? '' : 'none';
  // The more there is to draw, the more rarely it is drawn anew.
  const every = !session ? 500 : session.length > 50000 ? 4000 : session.length > 5000 ? 2000 : 900;
  const due = now || performance.now() - lastHeavy > every;
  if (document.hidden && !now) return;
  // A row that has the focus keeps it, though its table is made anew.
  const held = document.activeElement?.closest?.('.row-button')?.getAttribute('aria-label');
  shown.update(due);
  if (held && !place.contains(document.activeElement)) place.querySelector(`.row-button[aria-label="${CSS.escape(held)}"]`)?.focus({ preventScroll: true });
  if (due) lastHeavy = performance.now();
  else if (!waiting) waiting = setTimeout(() => { waiting = null; refresh(); }, every);
}

function setLive(state, text) { dot.className = `dot ${state}`; liveText.textContent = text; }

// The data.
let stream = null;
async function loadStore() {
  try { const r = await fetch('/api/store'); if (r.ok) view.store = await r.json(); } catch { /* it is shown without */ }
}
/** Of a hub: its devices and jobs. */
async function loadFleet() {
  try {
    const r = await fetch('/api/fleet');
    if (!r.ok) return;
    const fleet = await r.json();
    if (!fleet && !view.fleet) { clearInterval(fleets); return; }
    view.fleet = fleet ?? view.fleet;
    refresh();
  } catch { /* it is tried again */ }
}
/** The trials follow what they come to: those of the session that is shown, then the others, one by one. */
let fetching = null;
async function loadRows() {
  const mine = fetching = {};
  for (;;) {
    const wanted = session && !session.loaded ? session : view.list.findLast((s) => !s.loaded);
    if (!wanted) { if (!app.allPaint) painted(() => { app.allPaint = performance.now(); }); return; }
    const bytes = await (inlined ? inlinedRows : servedRows)(wanted);
    if (fetching !== mine) return;
    if (!bytes || !wanted.hold(bytes)) throw new Error('the trials do not fit');
    if (wanted === session) refresh(true);
    else refresh();
    if (wanted === session && !app.allPaint) painted(() => { app.allPaint = performance.now(); });
  }
}
async function servedRows(of) {
  const r = await fetch(`/api/rows?session=${of.number}&count=${of.count}`);
  return r.ok ? r.arrayBuffer() : null;
}
/** Of a report: they stand in it packed, and are let go once they are read. */
async function inlinedRows(of) {
  const place = document.getElementById(`attune-rows-${of.number}`);
  const text = atob(place.textContent);
  place.remove();
  const packed = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) packed[i] = text.charCodeAt(i);
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate'))).arrayBuffer();
}
/** Once what has been drawn until now is on the screen. */
function painted(act) { requestAnimationFrame(() => setTimeout(act)); }

let fleets = null;
let loading = false;
async function load() {
  if (loading) return;
  loading = true;
  try {
    const r = await fetch('/api/view?rows=apart');
    if (r.status === 401) { setLive('off', 'a token is needed'); document.querySelector('.loading')?.replaceChildren('A token is needed: open the address that attune has printed.'); return; }
    if (!r.ok) throw new Error(String(r.status));
    const doc = await r.json();
    const { store, fleet } = view;
    view.take(doc.view);
    view.store = store;
    view.fleet = fleet;
    pickSession();
    begin();
    fillPicker();
    refresh(true);
    loadRows().catch(() => { if (stream) { stream.close(); stream = null; setTimeout(load, 2000); } });
    loadStore().then(() => refresh(true));
    clearInterval(fleets);
    fleets = setInterval(() => { if (!document.hidden && stream) loadFleet(); }, 2000);
    loadFleet();
    follow(doc.boot, doc.seq);
  } catch {
    setLive('off', 'the server is gone; trying again');
    setTimeout(load, 2000);
  } finally { loading = false; }
}
function follow(boot, seq) {
  stream?.close();
  stream = new EventSource(`/api/live?boot=${boot}&after=${seq}`);
  const again = () => { stream?.close(); stream = null; setTimeout(load, 300); };
  stream.onopen = () => setLive('on', 'live');
  stream.addEventListener('reset', again);
  stream.onmessage = (e) => {
    if (!view.take(JSON.parse(e.data))) { again(); return; }
    pickSession();
    fillPicker();
    refresh();
  };
  stream.onerror = () => {
    setLive('off', 'the server is gone; trying again');
    if (stream?.readyState === EventSource.CLOSED) { stream = null; setTimeout(load, 2000); }
  };
}

let begun = false;
function begin() {
  if (begun) return;
  begun = true;
  document.getElementById('app').replaceChildren(h('div', { class: 'shell' },
    h('header', { class: 'side' }, h('div', { class: 'brand' }, logo(), 'Attune'), nav, h('div', { class: 'foot' }, h('div', { class: 'live', role: 'status' }, dot, liveText), h('div', { class: 'small-buttons' }, themeButton))), main));
  setTheme(document.documentElement.dataset.theme ?? 'light');
  show(location.hash.slice(1));
  painted(() => { app.firstPaint = performance.now(); });
}

let wanted = null;
try { wanted = localStorage.getItem('attune-theme'); } catch { /* none */ }
document.documentElement.dataset.theme = wanted ?? (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');
window.addEventListener('hashchange', () => { show(location.hash.slice(1)); main.focus({ preventScroll: true }); window.scrollTo(0, 0); });
document.addEventListener('visibilitychange', () => { if (!document.hidden) refresh(true); });
document.addEventListener('keydown', (e) => {
  if (e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName) || document.querySelector('.drawer')) return;
  const n = Number(e.key);
  if (n >= 1 && n <= VIEWS.length) location.hash = VIEWS[n - 1][0];
});
if (inlined) {
  view.take(JSON.parse(inlined.textContent));
  inlined.remove();
  view.store = extra.store;
  pickSession();
  setLive('', 'a report');
  begin();
  fillPicker();
  loadRows().catch((e) => { unreadable = `This file’s trials cannot be read: ${e.message}`; refresh(true); });
} else {
  setInterval(() => { if (!document.hidden && stream) loadStore(); }, 15000);
  load();
}
