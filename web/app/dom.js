// Elements, menus and files.

export function h(tag, attributes = {}, ...children) {
  const el = tag.includes(':') ? document.createElementNS('http://www.w3.org/2000/svg', tag.slice(4)) : document.createElement(tag);
  for (const [k, v] of Object.entries(attributes)) {
    if (v === null || v === undefined || v === false) continue;
    if (k.startsWith('on')) el.addEventListener(k.slice(2), v);
    else if (k === 'style') Object.entries(v).forEach(([name, value]) => el.style.setProperty(name, value));
    else if (k === 'text') el.textContent = v;
    else el.setAttribute(k, v === true ? '' : v);
  }
  for (const c of children.flat(3)) if (c !== null && c !== undefined && c !== false) el.append(c);
  return el;
}

export function icon(path) {
  const svg = h('svg:svg', { viewBox: '0 0 24 24', fill: 'none', stroke: 'currentColor', 'stroke-width': '1.8', 'stroke-linecap': 'round', 'stroke-linejoin': 'round', 'aria-hidden': 'true' });
  svg.append(h('svg:path', { d: path }));
  return svg;
}

export function save(name, what, type) {
  const url = URL.createObjectURL(what instanceof Blob ? what : new Blob([what], { type }));
  const a = h('a', { href: url, download: name });
  document.body.append(a);
  a.click();
  a.remove();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

export function csv(columns, rows) {
  const cell = (v) => {
    if (v === null || v === undefined || (typeof v === 'number' && Number.isNaN(v))) return '';
    const s = String(v);
    return /[",\n\r]/.test(s) ? `"${s.replaceAll('"', '""')}"` : s;
  };
  return [columns, ...rows].map((r) => r.map(cell).join(',')).join('\r\n') + '\r\n';
}

/** A button with a list of things to do, for pointer and keyboard. */
export function menu(label, items) {
  const list = h('div', { class: 'items', role: 'menu' });
  const button = h('button', { type: 'button', 'aria-haspopup': 'menu', 'aria-expanded': 'false', 'aria-label': label, title: label }, '⋯');
  const close = () => { list.classList.remove('open'); button.setAttribute('aria-expanded', 'false'); document.removeEventListener('pointerdown', outside); };
  const outside = (e) => { if (!root.contains(e.target)) close(); };
  const root = h('div', { class: 'menu' }, button, list);
  for (const [text, act] of items)
    list.append(h('button', { type: 'button', role: 'menuitem', tabindex: '-1', onclick: () => { close(); button.focus(); act(); } }, text));
  button.addEventListener('click', () => {
    const open = list.classList.toggle('open');
    button.setAttribute('aria-expanded', String(open));
    if (open) { document.addEventListener('pointerdown', outside); list.firstChild.focus(); } else close();
  });
  root.addEventListener('keydown', (e) => {
    const all = [...list.children];
    const at = all.indexOf(document.activeElement);
    if (e.key === 'Escape' && list.classList.contains('open')) { close(); button.focus(); e.stopPropagation(); }
    if (e.key === 'ArrowDown' && at >= 0) { all[(at + 1) % all.length].focus(); e.preventDefault(); }
    if (e.key === 'ArrowUp' && at >= 0) { all[(at + all.length - 1) % all.length].focus(); e.preventDefault(); }
  });
  return root;
}

/** Buttons of which one is pressed. */
export function segments(label, options, chosen, choose) {
  const root = h('div', { class: 'seg', role: 'group', 'aria-label': label });
  for (const [value, text] of options)
    root.append(h('button', { type: 'button', 'aria-pressed': String(value === chosen), onclick: (e) => {
      for (const b of root.children) b.setAttribute('aria-pressed', String(b === e.currentTarget));
      choose(value);
    } }, text));
  return root;
}

export function selectBox(label, options, chosen, choose) {
  const box = h('select', { 'aria-label': label, onchange: (e) => choose(e.target.value) });
  for (const [value, text] of options) box.append(h('option', { value, selected: String(value) === String(chosen) }, text));
  return box;
}

export function card(title, what, width, ...children) {
  const tools = h('div', { class: 'tools' });
  const el = h('section', { class: `card ${width}`, 'aria-label': title },
    h('header', {}, h('div', { class: 'text' }, h('h2', { text: title }), what ? h('p', { class: 'what', text: what }) : null), tools), ...children);
  el.tools = tools;
  return el;
}

/** What a long table is scrolled in, by the keyboard too. */
export function scroller(label) { return h('div', { class: 'scroll', role: 'group', tabindex: '0', 'aria-label': label }); }

/** A table; a row that leads somewhere can be clicked, and has a button in its first cell for the keyboard. */
export function table(columns, rows, empty = 'Nothing yet.') {
  if (rows.length === 0) return h('p', { class: 'empty', text: empty });
  return h('table', {},
    h('thead', {}, h('tr', {}, columns.map((c) => h('th', { scope: 'col', class: `${c.num ? 'num' : ''} ${c.small === false ? 'hide-small' : ''}` }, c.title || h('span', { class: 'visually-hidden', text: 'Mark' }))))),
    h('tbody', {}, rows.map((r) => h('tr', r.go ? { class: 'go', onclick: r.go } : {},
      r.cells.map((cell, i) => h('td', { class: `${columns[i].num ? 'num' : ''} ${columns[i].kind ?? ''} ${columns[i].small === false ? 'hide-small' : ''}` }, r.go && i === 0 ? h('button', { type: 'button', class: 'row-button', 'aria-label': r.label }, cell) : cell))))));
}

export function chip(text, kind = '') { return h('span', { class: `chip ${kind}`, text }); }
