// The statistics that the views show. Each says where it comes from.

export function quantile(sorted, q) {
  if (sorted.length === 0) return NaN;
  const at = (sorted.length - 1) * q;
  const low = Math.floor(at);
  const high = Math.min(low + 1, sorted.length - 1);
  return sorted[low] + (sorted[high] - sorted[low]) * (at - low);
}

export function sortedNumbers(values) {
  return Float64Array.from(values).sort();
}

export function mean(values) {
  let s = 0;
  for (const v of values) s += v;
  return values.length ? s / values.length : NaN;
}

/** A small generator of random numbers with a seed (Steele, Lea, Flood: SplitMix; its 32-bit form). */
export function random(seed) {
  let a = seed >>> 0;
  return () => {
    a = (a + 0x9e3779b9) >>> 0;
    let t = a ^ (a >>> 16);
    t = Math.imul(t, 0x21f0aaad);
    t ^= t >>> 15;
    t = Math.imul(t, 0x735a2d97);
    return ((t ^ (t >>> 15)) >>> 0) / 4294967296;
  };
}

/** The 95 % percentile-bootstrap interval of the mean (Efron, 1979). */
export function bootstrapMean(values, rounds = 1000) {
  if (values.length < 2) return [values[0], values[0]];
  const next = random(12345);
  const means = new Float64Array(rounds);
  for (let r = 0; r < rounds; r++) {
    let s = 0;
    for (let i = 0; i < values.length; i++) s += values[Math.floor(next() * values.length)];
    means[r] = s / values.length;
  }
  means.sort();
  return [quantile(means, 0.025), quantile(means, 0.975)];
}

/** erfc by the rational approximation of Numerical Recipes, relative error below 1.2e-7. */
function erfc(x) {
  const z = Math.abs(x);
  const t = 1 / (1 + 0.5 * z);
  const r = t * Math.exp(-z * z - 1.26551223 + t * (1.00002368 + t * (0.37409196 + t * (0.09678418 + t * (-0.18628806 +
    t * (0.27886807 + t * (-1.13520398 + t * (1.48851587 + t * (-0.82215223 + t * 0.17087277)))))))));
  return x >= 0 ? r : 2 - r;
}

/** In how many of the ways to mix n and m values U is u, by Mann and Whitney's recurrence, for u = 0 … n·m. */
function waysOfU(n, m) {
  let rows = Array.from({ length: m + 1 }, () => Float64Array.of(1));
  for (let i = 1; i <= n; i++) {
    const next = [Float64Array.of(1)];
    for (let j = 1; j <= m; j++) {
      const out = new Float64Array(i * j + 1);
      rows[j].forEach((w, u) => { out[u + j] += w; });
      next[j - 1].forEach((w, u) => { out[u] += w; });
      next.push(out);
    }
    rows = next;
  }
  return rows[m];
}

/**
 * Two-sided p of Mann and Whitney's U test (1947): exact for up to 25 values a side without ties, else the normal
 * approximation with ties and continuity corrected. `effect`: the chance that a value of a is the larger.
 */
export function mannWhitney(a, b) {
  const n = a.length;
  const m = b.length;
  if (n < 2 || m < 2) return { u: NaN, p: NaN, effect: NaN };
  const all = [...a.map((v) => [v, 0]), ...b.map((v) => [v, 1])].sort((x, y) => x[0] - y[0]);
  let rankA = 0;
  let ties = 0;
  for (let i = 0; i < all.length;) {
    let j = i;
    while (j < all.length && all[j][0] === all[i][0]) j++;
    const r = (i + j + 1) / 2;
    for (let k = i; k < j; k++) if (all[k][1] === 0) rankA += r;
    ties += (j - i) ** 3 - (j - i);
    i = j;
  }
  const u = rankA - n * (n + 1) / 2;
  const N = n + m;
  if (ties === 0 && n <= 25 && m <= 25) {
    const ways = waysOfU(n, m);
    const tail = Math.min(u, n * m - u);
    let all = 0;
    let out = 0;
    ways.forEach((w, k) => { all += w; if (k <= tail) out += w; });
    return { u, p: Math.min(1, 2 * out / all), effect: u / (n * m) };
  }
  const sd = Math.sqrt(n * m / 12 * (N + 1 - ties / (N * (N - 1))));
  const z = sd > 0 ? Math.max(0, Math.abs(u - n * m / 2) - 0.5) / sd : 0;
  return { u, p: sd > 0 ? erfc(z / Math.SQRT2) : 1, effect: u / (n * m) };
}

/** Kendall's tau-b in O(n log n) (Kendall, 1945; Knight, 1966). NaN where one side is all ties. */
export function kendall(a, b) {
  const n = a.length;
  if (n < 2) return NaN;
  const order = Array.from({ length: n }, (_, i) => i).sort((i, j) => a[i] - a[j] || b[i] - b[j]);
  const pairs = (k) => k * (k - 1) / 2;
  let tiesA = 0;
  let tiesBoth = 0;
  for (let i = 0, j = 0, k = 0; i < n; i++) {
    if (i + 1 === n || a[order[i + 1]] !== a[order[i]]) { tiesA += pairs(i + 1 - j); j = i + 1; }
    if (i + 1 === n || a[order[i + 1]] !== a[order[i]] || b[order[i + 1]] !== b[order[i]]) { tiesBoth += pairs(i + 1 - k); k = i + 1; }
  }
  let v = Float64Array.from(order, (i) => b[i]);
  let w = new Float64Array(n);
  let swaps = 0;
  for (let width = 1; width < n; width *= 2) {
    for (let lo = 0; lo < n; lo += 2 * width) {
      const mid = Math.min(lo + width, n);
      const hi = Math.min(lo + 2 * width, n);
      for (let i = lo, j = mid, k = lo; k < hi; k++) {
        if (i < mid && (j >= hi || v[i] <= v[j])) w[k] = v[i++];
        else { swaps += j < hi ? mid - i : 0; w[k] = v[j++]; }
      }
    }
    [v, w] = [w, v];
  }
  let tiesB = 0;
  for (let i = 0, j = 0; i < n; i++)
    if (i + 1 === n || v[i + 1] !== v[i]) { tiesB += pairs(i + 1 - j); j = i + 1; }
  const total = pairs(n);
  const down = Math.sqrt((total - tiesA) * (total - tiesB));
  return down > 0 ? (total - tiesA - tiesB + tiesBoth - 2 * swaps) / down : NaN;
}
