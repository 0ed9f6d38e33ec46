#!/usr/bin/env python3
# Makes python_expressions.txt: random expressions with what Python makes of them, one a line:
#   a, b, f (as hexadecimal float), s, the expression, the result, separated by tabs.
# A result is `b:` boolean, `i:` integer, `d:` float (hexadecimal), `s:` text (bytes in hex), `l0[` list, `l1[` tuple,
# `l2[` range, or `E:` and the fault: 0 division by zero, 1 beyond 64 bits, 2 TypeError, 3 ValueError or IndexError.
# Usage: make_python_expressions.py SEED COUNT > python_expressions.txt

import ast, builtins, math, operator, random, sys, warnings
seed = int(sys.argv[1])
N = int(sys.argv[2])
R = random.Random(seed)

class Big(Exception):
    pass

def chk(v):
    if isinstance(v, int) and (not isinstance(v, bool)) and (not -2 ** 63 <= v < 2 ** 63):
        raise Big
    if isinstance(v, complex):
        raise ValueError
    if isinstance(v, (list, tuple, set)):
        [chk(i) for i in v]
    return v
B = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow, ast.LShift: operator.lshift, ast.RShift: operator.rshift, ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.BitXor: operator.xor}
C = {ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.In: lambda a, b: a in b, ast.NotIn: lambda a, b: a not in b}

def ev(n, env):
    t = type(n)
    if t is ast.Expression:
        return ev(n.body, env)
    if t is ast.Constant:
        return chk(n.value)
    if t is ast.Name:
        return env[n.id]
    if t is ast.BinOp:
        a = ev(n.left, env)
        b = ev(n.right, env)
        if t and isinstance(n.op, (ast.Pow,)) and isinstance(a, int) and isinstance(b, int) and (b > 0) and (abs(a) > 1) and (b * math.log2(abs(a)) > 66):
            raise Big
        if isinstance(n.op, ast.LShift) and isinstance(a, int) and isinstance(b, int) and (b > 64):
            if a == 0:
                return 0
            raise Big
        if isinstance(n.op, ast.Mult) and (isinstance(a, (str, list, tuple)) or isinstance(b, (str, list, tuple))):
            k = b if isinstance(b, int) else a
            if isinstance(k, int) and k > 1000:
                raise MemoryError
        if isinstance(n.op, ast.Mod) and isinstance(a, str):
            raise TypeError
        return chk(B[type(n.op)](a, b))
    if t is ast.UnaryOp:
        a = ev(n.operand, env)
        return chk({ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Not: operator.not_, ast.Invert: operator.invert}[type(n.op)](a))
    if t is ast.BoolOp:
        for k in n.values:
            v = ev(k, env)
            if bool(v) == isinstance(n.op, ast.Or):
                return v
        return v
    if t is ast.Compare:
        a = ev(n.left, env)
        for o, k in zip(n.ops, n.comparators):
            b = ev(k, env)
            r = C[type(o)](a, b)
            if not r:
                return r
            a = b
        return r
    if t is ast.IfExp:
        return ev(n.body if ev(n.test, env) else n.orelse, env)
    if t is ast.List:
        return [ev(k, env) for k in n.elts]
    if t is ast.Tuple:
        return tuple((ev(k, env) for k in n.elts))
    if t is ast.Subscript:
        return ev(n.value, env)[ev(n.slice, env)]
    if t is ast.Call:
        f = {k: getattr(builtins, k) for k in ('min', 'max', 'abs', 'round', 'int', 'float', 'bool', 'len', 'sum', 'range', 'list', 'tuple', 'sorted', 'any', 'all', 'pow')}
        if isinstance(n.func, ast.Attribute):
            return chk(getattr(ev(n.func.value, env), n.func.attr)(*[ev(k, env) for k in n.args]))
        args = [ev(k, env) for k in n.args]
        if n.func.id == 'range' and all((isinstance(x, int) for x in args)) and (len(range(*args)) > 1000):
            raise MemoryError
        if n.func.id == 'pow':
            return ev(ast.BinOp(ast.Constant(args[0]), ast.Pow(), ast.Constant(args[1])), env)
        return chk(f[n.func.id](*args))
    raise NotImplementedError(t)
ints = ['0', '1', '2', '3', '5', '7', '-1', '-4', '10', '63', '64', '100', '4096', '9223372036854775807', '4611686018427387904', 'a', 'b', 'a', 'b', 'True', 'False']
flts = ['0.5', '1.5', '2.5', '-0.25', '1e10', '1e308', '1e-300', '0.1', 'f', 'f', '-0.0', '3.0', '1e22']
strs = ["''", "'a'", "'abc'", "'b'", 's', "'10'", "' 7 '", "'é1'", "'-3.5'"]

def g(d):
    if d <= 0:
        return R.choice(ints + ints + flts + strs[:7])
    k = R.random()
    if k < 0.38:
        return '(%s %s %s)' % (g(d - 1), R.choice(['+', '-', '*', '/', '//', '%', '**', '<<', '>>', '&', '|', '^', '+', '-', '*', '//', '%']), g(d - 1))
    if k < 0.43:
        return '%s %s %s' % (g(d - 1), R.choice(['+', '-', '*', '//', '%', '**']), g(d - 1))
    if k < 0.48:
        return R.choice(['-', '+', '~', 'not ']) + '(%s)' % g(d - 1)
    if k < 0.6:
        return '(%s %s %s)' % (g(d - 1), R.choice(['<', '<=', '>', '>=', '==', '!=']), g(d - 1))
    if k < 0.65:
        return '(%s %s %s %s %s)' % (g(d - 1), R.choice(['<', '<=', '==', '!=']), g(d - 1), R.choice(['<', '<=', '>', '!=']), g(d - 1))
    if k < 0.72:
        return '(%s %s %s)' % (g(d - 1), R.choice(['and', 'or']), g(d - 1))
    if k < 0.76:
        return '(%s if %s else %s)' % (g(d - 1), g(d - 1), g(d - 1))
    if k < 0.8:
        return '(%s %s %s)' % (g(d - 1), R.choice(['in', 'not in']), lst(d - 1))
    if k < 0.95:
        f = R.choice(['min', 'max', 'abs', 'round', 'round2', 'int', 'float', 'bool', 'len', 'sum', 'sorted', 'any', 'all', 'pow', 'list', 'tuple', 'index', 'count', 'startswith', 'sub', 'minl'])
        if f in ('min', 'max'):
            return '%s(%s, %s)' % (f, g(d - 1), g(d - 1))
        if f == 'round2':
            return 'round(%s, %s)' % (g(d - 1), R.choice(['0', '1', '2', '-1', '-2', '3', '20', '-19', '-20']))
        if f == 'pow':
            return 'pow(%s, %s)' % (g(d - 1), g(d - 1))
        if f in ('sum', 'sorted', 'any', 'all', 'list', 'tuple'):
            return '%s(%s)' % (f, lst(d - 1))
        if f == 'minl':
            return '%s(%s)' % (R.choice(['min', 'max', 'len']), lst(d - 1))
        if f in ('index', 'count'):
            return '%s.%s(%s)' % (lst(d - 1), f, g(d - 1))
        if f == 'startswith':
            return '(%s).%s(%s)' % (R.choice(strs), R.choice(['startswith', 'endswith', 'index', 'count']), R.choice(strs))
        if f == 'sub':
            return '%s[%s]' % (lst(d - 1), g(d - 1))
        return '%s(%s)' % (f, g(d - 1))
    return lst(d - 1)

def lst(d):
    k = R.random()
    if k < 0.5:
        return '[%s]' % ', '.join((g(d - 1) for _ in range(R.randint(0, 4))))
    if k < 0.7:
        return '(%s,)' % ', '.join((g(d - 1) for _ in range(R.randint(1, 3))))
    if k < 0.8:
        return R.choice(strs)
    return 'list(range(%s))' % ', '.join((R.choice(['0', '1', '3', '10', '-2', 'a']) for _ in range(R.randint(1, 3))))

def show(v):
    if isinstance(v, bool):
        return 'b:%d' % v
    if isinstance(v, int):
        return 'i:%d' % v
    if isinstance(v, float):
        return 'd:nan' if v != v else ('d:', v)
    if isinstance(v, str):
        return 's:' + v.encode().hex()
    if isinstance(v, (list, tuple, range)):
        return ('L', 0 if isinstance(v, list) else 1 if isinstance(v, tuple) else 2, [show(i) for i in v])
    return repr(v)
cases = []
for _ in range(N):
    a = R.choice([0, 1, 2, 3, 7, 16, -5, 1024, 2 ** 62, -2 ** 63, R.randint(-50, 50)])
    b = R.choice([0, 1, 2, 4, -3, 64, R.randint(-9, 9)])
    f = R.choice([0.0, 0.5, -2.5, 1e+300, 3.7, 100.0, float('inf'), R.uniform(-10, 10)])
    s = R.choice(['', 'x', 'abc', '42'])
    e = g(R.randint(1, 4))
    try:
        t = ast.parse(e, mode='eval')
    except Exception as x:
        continue
    try:
        v = show(ev(t, dict(a=a, b=b, f=f, s=s)))
    except Big:
        v = 'E:1'
    except OverflowError:
        v = 'E:1'
    except ZeroDivisionError:
        v = 'E:0'
    except TypeError:
        v = 'E:2'
    except (ValueError, IndexError):
        v = 'E:3'
    except MemoryError:
        continue
    cases.append((a, b, f, s, e, v))

def flat(v):
    if isinstance(v, tuple):
        if v[0] == 'd:':
            return 'd:' + ('inf' if v[1] == float('inf') else '-inf' if v[1] == -float('inf') else v[1].hex())
        return 'l%d[' % v[1] + ''.join((flat(i) + ',' for i in v[2])) + ']'
    return v
for a, b, f, s, e, v in cases:
    if '9223372036854775807 * ' in e or '4611686018427387904 * ' in e or 'range(a' in e or (', a)' in e) or (', a,' in e) or (len(e) > 140) or (v == 'E:2' and R.random() < 0.85):
        continue
    print('%d\t%d\t%s\t%s\t%s\t%s' % (a, b, f.hex(), s, e, flat(v)))
