// What the page knows: the view as the server tells it, in typed columns.

/** A column that grows. */
class Column {
  constructor(Kind) { this.data = new Kind(1024); this.length = 0; }
  append(values, missing) {
    const need = this.length + values.length;
    if (need > this.data.length) {
      const bigger = new this.data.constructor(Math.max(need, this.data.length * 2));
      bigger.set(this.data.subarray(0, this.length));
      this.data = bigger;
    }
    for (let i = 0; i < values.length; i++) this.data[this.length + i] = values[i] === null ? missing : values[i];
    this.length = need;
  }
  /** Takes over what came as it is. */
  hold(data) { this.data = data; this.length = data.length; }
  get view() { return this.data.subarray(0, this.length); }
}

const KINDS = { n: Uint32Array, t: Float32Array, v: Float64Array, e: Uint8Array, c: Uint8Array, q: Float32Array, b: Float32Array, r: Float32Array, k: Float32Array, s: Float32Array, d: Float32Array, m: Float64Array, x: Uint8Array, w: Int16Array };

/** How a trial ended, by its number in the columns; in words: endingText(). */
export const ENDINGS = ['measured', 'bounded', 'invalid_config', 'build_error', 'build_timeout', 'run_error', 'run_timeout', 'wrong_output', 'bad_metric', 'device_lost', 'cancelled', 'internal'];

export const endingText = (name) => (name === 'bounded' ? 'stopped early' : name.replaceAll('_', ' '));

export class Session {
  constructor(number) {
    this.number = number;
    this.head = { number, task: '', unit: '', goal: 'minimize', endings: {} };
    this.names = [];
    this.values = [];
    this.columns = {};
    for (const [k, Kind] of Object.entries(KINDS)) this.columns[k] = new Column(Kind);
    this.p = [];
    this.improvements = []; // rows, each better than all before it
    this.seen = 0;
    this.orders = [];
    this.count = 0; // trials that are still to be fetched; what comes meanwhile waits
    this.waiting = [];
  }
  /** Whether its trials are here. */
  get loaded() { return this.count === 0; }
  get total() { return Math.max(this.length, this.count); }
  get length() { return this.columns.n.length; }
  get sign() { return this.head.goal === 'maximize' ? -1 : 1; }
  col(name) { return this.columns[name].view; }
  param(i) { return this.p[i].view; }
  better(a, b) { return this.sign * a < this.sign * b; }

  take(doc) {
    if (doc.head) this.head = doc.head;
    if (doc.names) {
      this.names = doc.names;
      this.values = doc.names.map(() => []);
      this.p = doc.names.map(() => new Column(Uint16Array));
    }
    if (doc.values) doc.values.forEach((more, i) => { for (const v of more) this.values[i].push(v); });
    if (doc.count) { this.count = doc.count; return true; }
    if (!this.loaded) {
      if (doc.rows || doc.amended) this.waiting.push({ from: doc.from, rows: doc.rows, amended: doc.amended });
      return true;
    }
    if (doc.rows) {
      if (doc.from !== this.length) return false;
      for (const k of Object.keys(KINDS)) this.columns[k].append(doc.rows[k], NaN);
      doc.rows.p.forEach((more, i) => this.p[i].append(more, 0));
    }
    return this.improve(doc.amended);
  }

  /** Its first trials, as the server gives them: columns of numbers, the wide ones first. */
  hold(bytes) {
    const n = this.count;
    let at = 0;
    const next = (Kind) => { const one = new Kind(bytes, at, n); at += one.byteLength; return one; };
    for (const k of ['v', 'm', 't', 'q', 'b', 'r', 'k', 's', 'd']) this.columns[k].hold(next(KINDS[k]));
    this.columns.n.hold(next(Uint32Array));
    this.columns.w.hold(next(Int16Array));
    for (const p of this.p) p.hold(next(Uint16Array));
    for (const k of ['e', 'c', 'x']) this.columns[k].hold(next(Uint8Array));
    this.count = 0;
    this.improve();
    return this.waiting.splice(0).every((doc) => this.take(doc));
  }

  improve(amended) {
    if (amended) {
      for (const [row, value] of amended) this.columns.v.data[row] = value;
      this.improvements = [];
      this.seen = 0;
    }
    const v = this.col('v');
    const e = this.col('e');
    let best = this.improvements.length ? v[this.improvements[this.improvements.length - 1]] : NaN;
    for (; this.seen < this.length; this.seen++)
      if (e[this.seen] === 0 && (Number.isNaN(best) || this.better(v[this.seen], best))) {
        best = v[this.seen];
        this.improvements.push(this.seen);
      }
    return true;
  }

  get bestRow() { return this.improvements.length ? this.improvements[this.improvements.length - 1] : -1; }
  get best() { return this.head.best ?? (this.bestRow >= 0 ? this.col('v')[this.bestRow] : null); }

  /** The values of a parameter in the order of an axis: numbers by size, others as they came. */
  order(i) {
    const known = this.orders[i];
    if (known && known.count === this.values[i].length) return known;
    const values = this.values[i];
    const idx = values.map((_, k) => k);
    const numeric = values.every((v) => typeof v === 'number' || v === null);
    const truth = values.every((v) => typeof v === 'boolean' || v === null);
    if (numeric) idx.sort((a, b) => (values[a] ?? -Infinity) - (values[b] ?? -Infinity));
    else if (truth) idx.sort((a, b) => (values[a] === null ? -1 : Number(values[a])) - (values[b] === null ? -1 : Number(values[b])));
    const place = new Uint16Array(values.length);
    idx.forEach((k, at) => { place[k] = at; });
    return (this.orders[i] = { count: values.length, sorted: idx.map((k) => values[k]), place, numeric });
  }

  config(row) {
    const out = {};
    this.names.forEach((name, i) => {
      const v = this.values[i][this.p[i].data[row]];
      if (v !== null) out[name] = v;
    });
    return out;
  }

  get label() {
    const h = this.head;
    return `${h.task} · ${h.strategy}${h.seed !== undefined ? ` · seed ${h.seed}` : ''}`;
  }
}

export class View {
  constructor() { this.clear(); }
  clear() {
    this.doc = { stages: [], places: [], counts: {} };
    this.bounds = [];
    this.sessions = new Map();
    this.decisions = [];
    this.spans = [];
    this.began = 0;
    this.store = null;
    this.fleet = null;
  }
  /** Takes a text of the server's in; false where something between is missing. */
  take(doc) {
    if (doc.reset) return false;
    if (doc.full) this.clear();
    if (doc.bounds_s) this.bounds = doc.bounds_s;
    this.began = doc.began;
    this.doc = { now: doc.now_s, stages: doc.stages, places: doc.places, counts: doc.counts, trouble: doc.trouble };
    this.decisions.push(...doc.decisions);
    if (this.decisions.length > 1000) this.decisions.splice(0, this.decisions.length - 1000);
    this.spans.push(...doc.spans);
    if (this.spans.length > 8192) this.spans.splice(0, this.spans.length - 8192);
    for (const one of doc.sessions) {
      let s = this.sessions.get(one.number);
      if (!s) this.sessions.set(one.number, (s = new Session(one.number)));
      if (!s.take(one)) return false;
    }
    return true;
  }
  get list() { return [...this.sessions.values()]; }
}
