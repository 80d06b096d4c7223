import fc from 'fast-check'
import {
  getNullableType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  type GraphQLArgument,
  type GraphQLInputField,
  type GraphQLInputType,
} from 'graphql'
import type { Values } from '../tenancy/fill-arguments.ts'
import { alteredCursor } from './altered-cursor.ts'
import { hostileAnything, hostileCursor, hostileDate, hostileId, hostileNumber, hostileText } from './hostile-values.ts'
import { hostileDouble, hostileInteger, hostileMoment, hostileUuid } from './well-typed-values.ts'

type Parameter = GraphQLArgument | GraphQLInputField

/** Existing ids, so that the code behind a lookup is reached. */
export interface Known {
  values: Values
  /** Cursors of pages of all kinds. */
  cursors: readonly string[]
}

export interface Manner extends Known {
  /** Whether also what the types do not allow: most of it comes no further than to their check. */
  rude: boolean
}

/** Input objects within input objects: filters hold filters. */
const DEPTH_MAX = 3
const ABSENT = Symbol('absent')

/** Arguments by their names: mostly of the right shape, so that they reach the services, with hostile leaves. */
export function arbitraryArguments(
  parameters: readonly Parameter[],
  manner: Manner,
  owner: string,
  depth = 0,
): fc.Arbitrary<Record<string, unknown>> {
  const all = Object.fromEntries(
    parameters.map((parameter) => {
      const value = arbitraryValue(parameter, manner, owner, depth)
      return [parameter.name, isRequired(parameter) ? value : sometimes(value)]
    }),
  )
  return fc
    .record(all)
    .map((given) => Object.fromEntries(Object.entries(given).filter(([, value]) => value !== ABSENT)))
}

function sometimes(value: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  return fc.oneof({ weight: 2, arbitrary: fc.constant(ABSENT) }, { weight: 1, arbitrary: value })
}

function isRequired({ type, defaultValue }: Parameter): boolean {
  return isNonNullType(type) && defaultValue === undefined
}

function arbitraryValue(parameter: Parameter, manner: Manner, owner: string, depth: number): fc.Arbitrary<unknown> {
  const { type, name } = parameter
  const known = [manner.values[`${owner}.${name}`], manner.values[name]].filter((value) => value !== undefined)
  return fc.oneof(
    { weight: 100, arbitrary: arbitraryOfType(type, manner, name, depth) },
    ...known.map((value) => ({ weight: 100, arbitrary: fc.constant(value) })),
    { weight: isNonNullType(type) ? 0 : 5, arbitrary: fc.constant(null) },
    { weight: manner.rude ? 5 : 0, arbitrary: hostileAnything },
  )
}

function arbitraryOfType(given: GraphQLInputType, manner: Manner, name: string, depth: number): fc.Arbitrary<unknown> {
  const type = getNullableType(given)
  if (isListType(type)) return arbitraryList(arbitraryOfType(type.ofType, manner, name, depth))
  if (isEnumType(type)) {
    const names = type.getValues().map((value) => value.name)
    return fc.oneof(
      { weight: 9, arbitrary: fc.constantFrom(...names) },
      {
        weight: manner.rude ? 1 : 0,
        arbitrary: fc.constantFrom('NO_SUCH_VALUE', '__proto__', names[0]!.toLowerCase()),
      },
    )
  }
  if (isInputObjectType(type)) {
    const fields = Object.values(type.getFields())
    const all = depth < DEPTH_MAX ? fields : fields.filter((field) => isRequired(field))
    return arbitraryArguments(all, manner, name, depth + 1)
  }
  return fc.oneof(
    { weight: 2, arbitrary: manner.rude ? rudeScalar(type.name, name) : wellTypedScalar(type.name, name) },
    { weight: isCursor(name) ? 6 : 0, arbitrary: alteredCursor(manner.cursors) },
    { weight: 1, arbitrary: plainScalar(type.name) },
  )
}

/** Duplicates, and now and then very many. */
function arbitraryList(item: fc.Arbitrary<unknown>): fc.Arbitrary<unknown[]> {
  return fc.oneof(
    { weight: 10, arbitrary: fc.array(item, { maxLength: 3 }) },
    { weight: 3, arbitrary: item.map((value) => [value, value]) },
    { weight: 1, arbitrary: item.map((value) => Array.from({ length: isShort(value) ? 1_200 : 2 }, () => value)) },
  )
}

function isShort(value: unknown): boolean {
  return JSON.stringify(value).length < 1_000
}

const isCursor = (name: string) => ['after', 'before', 'id'].includes(name)

function rudeScalar(type: string, name: string): fc.Arbitrary<unknown> {
  if (type === 'UUID') return hostileId
  if (type === 'DateTime') return hostileDate
  if (type === 'Int' || type === 'Float' || type === 'AirflowBackoff') return hostileNumber
  if (type === 'Boolean') return fc.boolean()
  return isCursor(name) ? hostileCursor : hostileText
}

function wellTypedScalar(type: string, name: string): fc.Arbitrary<unknown> {
  if (type === 'UUID') return hostileUuid
  if (type === 'DateTime') return hostileMoment
  if (type === 'Int') return hostileInteger
  if (type === 'Float' || type === 'AirflowBackoff') return hostileDouble
  if (type === 'Boolean') return fc.boolean()
  return isCursor(name) ? hostileCursor : hostileText
}

function plainScalar(type: string): fc.Arbitrary<unknown> {
  if (type === 'UUID') return fc.uuid()
  if (type === 'DateTime') {
    const [min, max] = [new Date('2020-01-01'), new Date('2060-01-01')]
    return fc.date({ min, max, noInvalidDate: true }).map((date) => date.toISOString())
  }
  if (type === 'Int') return fc.integer({ min: 0, max: 20 })
  if (type === 'Float' || type === 'AirflowBackoff') return fc.double({ min: 0.5, max: 1_000, noNaN: true })
  if (type === 'Boolean') return fc.boolean()
  return fc.constantFrom('default', 'cpu', '1', 'session.*', 'https://example.com/hook', 'plain')
}
