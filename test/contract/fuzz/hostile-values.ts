import fc from 'fast-check'
import { anyText } from '../../support/any-text.ts'

/** Values that programs trip over, by what they pretend to be. All of them can stand in JSON. */

/** More than any field may have, less than a request. */
const LONG = 'x'.repeat(1_000_000)

const TEXTS = [
  '',
  ' ',
  '\0',
  'a\0b',
  '\ud800',
  'a\udfff\ud800b',
  '\u202egnp.exe',
  '\ufeff',
  '\u{1f468}\u200d\u{1f469}\u200d\u{1f467}',
  'e\u0301'.repeat(300),
  `'; DROP TABLE sessions; --`,
  `" OR ""="`,
  '$1',
  '%',
  '%_\\',
  '\\',
  '*?[a-z]{a,b}',
  '../../etc/passwd',
  '${jndi:ldap://localhost}',
  '{{7*7}}',
  '<script>alert(1)</script>',
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  'null',
  'undefined',
  'NaN',
  'Infinity',
  '-0',
  '0x10',
  '1e309',
  '\r\nX-Injected: 1',
  '(a+)+$',
  'a'.repeat(257),
  LONG,
]

const NUMBERS = ['0', '-0', '-1', '0.1', '1e-320', '101', '2147483647', '2147483648', '-2147483649', '4294967296']
const HUGE_NUMBERS = [
  '9007199254740993',
  '9223372036854775807',
  '9223372036854775808',
  '1e21',
  '1.7976931348623157e308',
  '1e400',
  '-1e400',
  '123456789012345678901234567890',
]

const DATES = [
  '0000-01-01T00:00:00Z',
  '0001-01-01T00:00:00Z',
  '1970-01-01T00:00:00Z',
  '9999-12-31T23:59:59.999Z',
  '9999-12-31T23:59:59-23:59',
  '0000-01-01T00:00:00+23:59',
  '2026-02-30T00:00:00Z',
  '2026-01-01T24:00:00Z',
  '2026-01-01T00:00:60Z',
  '2026-01-01T00:00:00.123456789012345678901234567890Z',
  '+275760-09-13T00:00:00Z',
  '2040-01-01T00:00:00Z',
  'yesterday',
]

const ODD_IDS = [
  '00000000-0000-0000-0000-000000000000',
  'ffffffff-ffff-ffff-ffff-ffffffffffff',
  'FFFFFFFF-FFFF-7FFF-BFFF-FFFFFFFFFFFF',
  '{00000000-0000-7000-8000-000000000002}',
  '00000000000070008000000000000002',
]

const encoded = (text: string, encoding: 'base64' | 'base64url') => Buffer.from(text).toString(encoding)

/** Shapes of cursors and of global ids that are not, or no longer, what they should be. */
const CURSORS = [
  ...['[]', '{}', 'null', '[[[]]]', '[1,2,3]', '["createdAt desc,id desc","\\u0000","x"]', '["__proto__"]'].map(
    (text) => encoded(text, 'base64url'),
  ),
  encoded(
    '["createdAt desc,id desc","+275760-09-13T00:00:00.000Z","00000000-0000-7000-8000-000000000002"]',
    'base64url',
  ),
  encoded('["createdAt desc,id desc","0000-01-01","00000000-0000-7000-8000-000000000002"]', 'base64url'),
  'eyJ',
  '====',
  '18446744073709551616.99999999999999999999',
  '18446744073709551615.9223372036854775807',
  '-1.-1',
  '0.0',
  encoded('1.99999999999999999999999999', 'base64url'),
  encoded('18446744073709551616.9223372036854775808', 'base64url'),
  encoded('offset:1', 'base64'),
  encoded('Session:', 'base64'),
  encoded(`Session:' OR 1=1`, 'base64'),
  encoded('Session:a\0b', 'base64'),
  encoded('__proto__:1', 'base64'),
  encoded('Query:1', 'base64'),
  encoded('ResourceGroup:a\0b', 'base64'),
  encoded('ValidationError:1', 'base64'),
]

/** A number as it is written: JSON can say more than a program can hold. */
export const hostileNumber = fc
  .oneof(
    { weight: 3, arbitrary: fc.constantFrom(...NUMBERS) },
    { weight: 2, arbitrary: fc.constantFrom(...HUGE_NUMBERS) },
    fc.integer().map(String),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
  )
  .map((text): unknown => (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(text))

export const hostileText: fc.Arbitrary<string> = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...TEXTS) },
  { weight: 1, arbitrary: fc.constantFrom(...CURSORS) },
  { weight: 1, arbitrary: fc.constantFrom(...DATES, ...ODD_IDS) },
  { weight: 2, arbitrary: anyText({ maxLength: 40 }) },
)

/** The whole cursor, or one cut off in the middle. */
export const hostileCursor: fc.Arbitrary<string> = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...CURSORS) },
  fc.tuple(fc.constantFrom(...CURSORS), fc.nat(20)).map(([cursor, cut]) => cursor.slice(0, cut)),
  hostileText,
)

export const hostileDate: fc.Arbitrary<string> = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...DATES) },
  fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
  hostileText,
)

export const hostileId: fc.Arbitrary<string> = fc.oneof(
  { weight: 2, arbitrary: fc.uuid() },
  fc.constantFrom(...ODD_IDS),
  hostileText,
)

/** Something that should not stand there at all. */
export const hostileAnything: fc.Arbitrary<unknown> = fc.oneof(
  fc.constant(null),
  fc.boolean(),
  hostileNumber,
  hostileText,
  fc.constant([]),
  fc.constant({}),
  fc.constant(nested(200)),
  fc.constant(JSON.parse('{"__proto__": {"polluted": true}, "constructor": {"prototype": {}}}') as unknown),
  fc.array(fc.oneof(hostileText, hostileNumber), { maxLength: 4 }),
  fc.dictionary(fc.constantFrom('__proto__', 'constructor', 'name', 'a\0', ''), hostileText, { maxKeys: 3 }),
)

function nested(depth: number): unknown {
  let value: unknown = 'deep'
  for (let level = 0; level < depth; level++) value = level % 2 === 0 ? [value] : { value }
  return value
}
