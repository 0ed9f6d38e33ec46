// Numbers and times as people read them.

const PREFIXES = [[1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'k'], [1, ''], [1e-3, 'm'], [1e-6, 'µ'], [1e-9, 'n']];

/** Three significant digits, without trailing zeros and without an exponent where it can be helped. */
export function short(v, digits = 3) {
  if (v === null || v === undefined || !Number.isFinite(v)) return '–';
  if (v === 0) return '0';
  const a = Math.abs(v);
  if (a >= 1e15 || a < 1e-9) return v.toExponential(2);
  if (a >= 10 ** digits) return Math.round(v).toLocaleString('en-US');
  return String(Number(v.toPrecision(digits)));
}

/** A value with its unit: times and sizes get a prefix, others stand as they are. */
export function quantity(v, unit, digits = 3) {
  if (v === null || v === undefined || !Number.isFinite(v)) return '–';
  if (unit === 's') return duration(v, digits);
  if (unit && unit.length <= 8 && !/^(%|ms|us|ns)$/.test(unit) && Math.abs(v) >= 1e4) {
    for (const [f, p] of PREFIXES) if (Math.abs(v) >= f) return `${short(v / f, digits)} ${p}${unit}`;
  }
  return unit ? `${short(v, digits)} ${unit}` : short(v, digits);
}

export function duration(s, digits = 3) {
  if (s === null || s === undefined || !Number.isFinite(s)) return '–';
  const a = Math.abs(s);
  if (a === 0) return '0 s';
  if (a < 1e-6) return `${short(s * 1e9, digits)} ns`;
  if (a < 1e-3) return `${short(s * 1e6, digits)} µs`;
  if (a < 1) return `${short(s * 1e3, digits)} ms`;
  if (a < 100) return `${short(s, digits)} s`;
  const two = (big, small, big_name, small_name) => `${big} ${big_name}${small ? ` ${small} ${small_name}` : ''}`;
  const whole = Math.round(s);
  if (a < 3600) return two(Math.floor(whole / 60), whole % 60, 'min', 's');
  const minutes = Math.round(s / 60);
  if (a < 86400) return two(Math.floor(minutes / 60), minutes % 60, 'h', 'min');
  return `${short(s / 86400)} d`;
}

export function count(n) {
  return n === null || n === undefined ? '–' : Math.round(n).toLocaleString('en-US');
}

export function percent(x, digits = 1) {
  return x === null || x === undefined || !Number.isFinite(x) ? '–' : `${Number((x * 100).toFixed(digits))} %`;
}

export function rate(perSecond) {
  if (!perSecond) return '0/s';
  if (perSecond >= 1) return `${short(perSecond, 2)}/s`;
  if (perSecond >= 1 / 60) return `${short(perSecond * 60, 2)}/min`;
  return `${short(perSecond * 3600, 2)}/h`;
}

export function bytes(n) {
  if (n === null || n === undefined) return '–';
  for (const [f, p] of [[1e9, 'GB'], [1e6, 'MB'], [1e3, 'kB']]) if (n >= f) return `${short(n / f)} ${p}`;
  return `${n} B`;
}

export function when(wallSeconds) {
  if (!wallSeconds) return '–';
  const d = new Date(wallSeconds * 1000);
  const p = (n) => String(n).padStart(2, '0');
  return `${d.getFullYear()}-${p(d.getMonth() + 1)}-${p(d.getDate())} ${p(d.getHours())}:${p(d.getMinutes())}`;
}

export function valueText(v) {
  if (v === null || v === undefined) return '∅';
  if (Array.isArray(v)) return v.join(',');
  return String(v);
}

export function configText(config) {
  return Object.entries(config).map(([k, v]) => `${k}=${valueText(v)}`).join(' ');
}

/** Round numbers from lo to hi, about n of them. */
export function ticks(lo, hi, n) {
  if (!(hi > lo)) return [lo];
  const raw = (hi - lo) / Math.max(1, n);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((s) => s >= raw * 0.999) ?? 10 * power;
  const out = [];
  for (let v = Math.ceil(lo / step - 1e-9) * step; v <= hi + step * 1e-9; v += step) out.push(Math.abs(v) < step * 1e-9 ? 0 : v);
  return out;
}

export function logTicks(lo, hi, n) {
  const out = [];
  const decades = Math.log10(hi / lo);
  const set = decades > n ? [1] : decades > n / 2 ? [1, 3] : decades > 0.7 ? [1, 2, 5] : null;
  if (!set) return ticks(lo, hi, n);
  for (let e = Math.floor(Math.log10(lo)); e <= Math.ceil(Math.log10(hi)); e++)
    for (const m of set) {
      const v = m * 10 ** e;
      if (v >= lo * 0.999 && v <= hi * 1.001) out.push(v);
    }
  return out.length >= 2 ? out : ticks(lo, hi, n);
}
