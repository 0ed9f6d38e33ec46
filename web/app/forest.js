// A small regression forest (Breiman, 2001) over columns of small whole numbers: what the page ranks parameters with,
// and what it asks how predictable the results were.
import { random } from './stats.js';

function grow(columns, sizes, y, rows, depth, least, next, tried) {
  const nodes = [];
  const build = (from, to, level) => {
    let sum = 0;
    for (let i = from; i < to; i++) sum += y[rows[i]];
    const n = to - from;
    const node = { value: sum / n, column: -1, at: 0, low: 0, high: 0 };
    const index = nodes.push(node) - 1;
    if (level >= depth || n < 2 * least) return index;
    let best = 1e-12;
    for (let k = 0; k < tried; k++) {
      const c = Math.floor(next() * columns.length);
      const size = sizes[c];
      if (size < 2) continue;
      const s = new Float64Array(size);
      const m = new Uint32Array(size);
      const col = columns[c];
      for (let i = from; i < to; i++) { s[col[rows[i]]] += y[rows[i]]; m[col[rows[i]]]++; }
      let ls = 0;
      let lm = 0;
      for (let v = 0; v + 1 < size; v++) {
        ls += s[v];
        lm += m[v];
        if (m[v] === 0 || lm < least || n - lm < least) continue;
        const gain = ls * ls / lm + (sum - ls) * (sum - ls) / (n - lm) - sum * sum / n;
        if (gain > best) { best = gain; node.column = c; node.at = v; }
      }
    }
    if (node.column < 0) return index;
    const col = columns[node.column];
    let mid = from;
    for (let i = from; i < to; i++)
      if (col[rows[i]] <= node.at) { const t = rows[i]; rows[i] = rows[mid]; rows[mid++] = t; }
    node.low = build(from, mid, level + 1);
    node.high = build(mid, to, level + 1);
    return index;
  };
  build(0, rows.length, 0);
  return nodes;
}

function walk(nodes, columns, row, swapped, other) {
  let n = nodes[0];
  while (n.column >= 0) n = nodes[columns[n.column][n.column === swapped ? other : row] <= n.at ? n.low : n.high];
  return n.value;
}

export class Forest {
  constructor(columns, sizes, y, { trees = 32, depth = 12, least = 2, seed = 1 } = {}) {
    this.columns = columns;
    this.trees = [];
    const n = y.length;
    const next = random(seed);
    const tried = Math.max(2, Math.ceil(columns.length * 0.6));
    for (let t = 0; t < trees; t++) {
      const rows = new Uint32Array(n);
      const inside = new Uint8Array(n);
      for (let i = 0; i < n; i++) inside[rows[i] = Math.floor(next() * n)] = 1;
      this.trees.push({ nodes: grow(columns, sizes, y, rows, depth, least, next, tried), inside });
    }
  }

  predict(columns, row) {
    let s = 0;
    for (const t of this.trees) s += walk(t.nodes, columns, row, -1, 0);
    return s / this.trees.length;
  }

  /** By how much the error outside the bags grows where one column is shuffled, as shares of 1; and R² outside the bags. */
  importance(y, seed = 7) {
    const n = y.length;
    const next = random(seed);
    const order = Uint32Array.from({ length: n }, (_, i) => i);
    for (let i = n - 1; i > 0; i--) { const j = Math.floor(next() * (i + 1)); [order[i], order[j]] = [order[j], order[i]]; }
    const error = (swapped) => {
      let e = 0;
      let m = 0;
      for (const t of this.trees)
        for (let i = 0; i < n; i++) {
          if (t.inside[i]) continue;
          const d = y[i] - walk(t.nodes, this.columns, i, swapped, order[i]);
          e += d * d;
          m++;
        }
      return m ? e / m : 0;
    };
    let average = 0;
    for (const v of y) average += v / n;
    let variance = 0;
    for (const v of y) variance += (v - average) ** 2 / n;
    const base = error(-1);
    const grown = this.columns.map((_, c) => Math.max(0, error(c) - base));
    const sum = grown.reduce((a, b) => a + b, 0);
    return { shares: grown.map((g) => (sum > 0 ? g / sum : 0)), r2: variance > 0 ? 1 - base / variance : 0 };
  }
}
