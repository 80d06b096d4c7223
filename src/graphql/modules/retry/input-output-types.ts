import type { EnumRef, FieldMap, InputFieldMap, InputObjectRef, ObjectRef } from '@pothos/core'
import type { z } from 'zod'
import { builder } from '../../builder.ts'

/**
 * Objects that are given as they are shown. One table of fields makes the type and its input; what may be missing is
 * read from the zod schema that parses them.
 */

type Types = typeof builder.$inferSchemaTypes
// A twin's type depends on nothing but its values: fields of any twin may refer to it.
// oxlint-disable-next-line typescript/no-explicit-any
export type Twins<Shape = any> = { type: ObjectRef<Types, Shape>; input: InputObjectRef<Types, Shape> }

type SingleType<Value> = [Value] extends [boolean]
  ? 'Boolean'
  : [Value] extends [number]
    ? 'Int' | 'Float'
    : string extends Value
      ? 'String' | 'ExitCodes'
      : [Value] extends [string]
        ? EnumRef<Types, string>
        : Twins
type TypeOf<Value> = Value extends readonly (infer Item)[] ? readonly [SingleType<Item>] : SingleType<Value>

interface TwinField {
  type: unknown
  description: string
  /** The input's description, where it says more. */
  given?: string
}

export type TwinFields<Shape> = {
  readonly [Name in keyof Shape]-?: TwinField & { type: TypeOf<NonNullable<Shape[Name]>> }
}

export function twinTypes<Shape extends object>(
  name: string,
  description: string,
  schema: z.ZodObject,
  fields: TwinFields<Shape>,
): Twins<Shape> {
  const optional = (field: string) => acceptsNothing(schema, field)
  return {
    type: builder.objectRef<Shape>(name).implement({ description, fields: (t) => shownFields(t, fields, optional) }),
    input: builder.inputType(`${name}Input`, {
      description,
      fields: (t) => givenFields(t, fields, (field) => !optional(field)),
    }) as unknown as InputObjectRef<Types, Shape>,
  }
}

export function acceptsNothing(schema: z.ZodObject, field: string): boolean {
  const value = schema.shape[field] as z.ZodType
  return value.safeParse(undefined).success || value.safeParse(null).success
}

export function shownFields<Shape extends object>(
  t: PothosSchemaTypes.ObjectFieldBuilder<Types, Shape>,
  fields: TwinFields<Shape>,
  nullable: (field: string) => boolean,
  describe: (field: TwinField, name: string) => string = ({ description }) => description,
): FieldMap {
  return mapped(fields, (field, name) =>
    t.expose(name as never, {
      type: asType(field, 'type') as never,
      nullable: nullable(name) as never,
      description: describe(field, name),
    }),
  )
}

export function givenFields<Shape extends object>(
  t: PothosSchemaTypes.InputFieldBuilder<Types, 'InputObject'>,
  fields: TwinFields<Shape>,
  required: (field: string) => boolean,
): InputFieldMap {
  return mapped(fields, (field, name) =>
    t.field({
      type: asType(field, 'input') as never,
      required: required(name),
      description: field.given ?? field.description,
    }),
  )
}

function mapped<Shape, Field>(
  fields: TwinFields<Shape>,
  made: (field: TwinField, name: string) => Field,
): Record<string, Field> {
  const entries = Object.entries<TwinField>(fields)
  return Object.fromEntries(entries.map(([name, field]) => [name, made(field, name)]))
}

function asType({ type }: TwinField, twin: keyof Twins): unknown {
  const [single] = (Array.isArray(type) ? type : [type]) as readonly unknown[]
  const chosen = isTwins(single) ? single[twin] : single
  return Array.isArray(type) ? [chosen] : chosen
}

function isTwins(type: unknown): type is Twins {
  return typeof type === 'object' && type !== null && 'input' in type
}
