import type { EnumRef, FieldMap, InputFieldMap, InputObjectRef, ObjectRef } from '@pothos/core'
import type { z } from 'zod'
import { builder } from '../../builder.ts'

/**
 * Declares an output type and an input type with the same fields. One table of fields defines both; the zod schema that
 * parses the input defines which fields may be missing.
 */

type Types = typeof builder.$inferSchemaTypes
// Fields may refer to any pair of types, so the shape is open.
// oxlint-disable-next-line typescript/no-explicit-any
export type InputOutput<Shape = any> = { type: ObjectRef<Types, Shape>; input: InputObjectRef<Types, Shape> }

/** A value that inputs take in more forms than outputs show it. */
interface ScalarPair {
  type: 'Float'
  input: 'Duration'
}

type SingleType<Value> = [Value] extends [boolean]
  ? 'Boolean'
  : [Value] extends [number]
    ? 'Int' | 'Float' | ScalarPair
    : string extends Value
      ? 'String' | 'ExitCodes'
      : [Value] extends [string]
        ? EnumRef<Types, string>
        : InputOutput
type TypeOf<Value> = Value extends readonly (infer Item)[] ? readonly [SingleType<Item>] : SingleType<Value>

interface InputOutputField {
  type: unknown
  description: string
  /** Description of the input field, if it differs. */
  given?: string
}

export type InputOutputFields<Shape> = {
  readonly [Name in keyof Shape]-?: InputOutputField & { type: TypeOf<NonNullable<Shape[Name]>> }
}

export function inputOutputTypes<Shape extends object>(
  name: string,
  description: string,
  schema: z.ZodObject,
  fields: InputOutputFields<Shape>,
): InputOutput<Shape> {
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
  fields: InputOutputFields<Shape>,
  nullable: (field: string) => boolean,
  describe: (field: InputOutputField, name: string) => string = ({ description }) => description,
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
  fields: InputOutputFields<Shape>,
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
  fields: InputOutputFields<Shape>,
  made: (field: InputOutputField, name: string) => Field,
): Record<string, Field> {
  const entries = Object.entries<InputOutputField>(fields)
  return Object.fromEntries(entries.map(([name, field]) => [name, made(field, name)]))
}

function asType({ type }: InputOutputField, side: keyof InputOutput): unknown {
  const [single] = (Array.isArray(type) ? type : [type]) as readonly unknown[]
  const chosen = isInputOutput(single) ? single[side] : single
  return Array.isArray(type) ? [chosen] : chosen
}

function isInputOutput(type: unknown): type is InputOutput | ScalarPair {
  return typeof type === 'object' && type !== null && 'input' in type
}
