import { isEnumType, type GraphQLLeafType } from 'graphql'

/** Values for a place of a type: allowed and forbidden ones. */

export const HOSTILE_TEXTS = ['a\0b', 'a\udfffb', '', '%_\\', '__proto__', 'x'.repeat(3_000)]
const NUMBERS = [-0, -1, 5e-324, 2_147_483_647, -2_147_483_648, 2 ** 53, 1e308]
const MOMENTS = [
  '0001-01-01T00:00:00Z',
  '9999-12-31T23:59:59.999Z',
  '0000-01-01T00:00:00+23:59',
  '2026-02-30T00:00:00Z',
]
const IDS = ['00000000-0000-0000-0000-000000000000', 'FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF']
const CURSORS = [
  'bnVsbA',
  'W10',
  Buffer.from('["createdAt desc,id desc","\0","\ud800"]').toString('base64url'),
  'Q2hhaW46AA',
]
/** Values of no type. */
const OTHERS = [null, [[[]]], { a: 1 }]

export function hostileValues(type: GraphQLLeafType): unknown[] {
  return [...ofType(type), ...OTHERS]
}

function ofType(type: GraphQLLeafType): unknown[] {
  if (isEnumType(type)) return [type.getValues().at(-1)!.name, '\0', 'nonsense']
  const { name } = type
  if (name === 'UUID') return [...IDS, '\0']
  if (name === 'DateTime') return [...MOMENTS, '\0']
  if (name === 'Int' || name === 'Float') return [...NUMBERS, '\0']
  if (name === 'Boolean') return [false, '\0']
  if (name === 'ID') return [...HOSTILE_TEXTS, ...CURSORS]
  if (name === 'String') return [...HOSTILE_TEXTS, ...CURSORS]
  return [...HOSTILE_TEXTS, ...NUMBERS]
}
