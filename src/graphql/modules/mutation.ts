import type { InputObjectRef, ObjectRef } from '@pothos/core'
import { RepriseError } from '../../domain/errors.ts'
import { builder } from '../builder.ts'
import type { GraphQLContext } from '../context.ts'
import { errorShape } from './error.types.ts'

type Types = typeof builder.$inferSchemaTypes
// Members of one union have different shapes.
// oxlint-disable-next-line typescript/no-explicit-any
type AnyObject = ObjectRef<Types, any>

/**
 * Declares a mutation with one argument, `input`. Its result is the union `<Name>Result` of the payload and the errors
 * that the caller can correct; all other errors are thrown. Returns the union.
 */
export function mutation<Input, Payload extends object>(options: {
  name: string
  description: string
  deprecationReason?: string
  input: InputObjectRef<Types, Input>
  inputDescription: string
  payload: ObjectRef<Types, Payload>
  /** Types that `run` may return instead of the payload, with their `__typename`. */
  otherPayloads?: readonly AnyObject[]
  errors: readonly AnyObject[]
  /** The result in words; "or an error that the caller can correct" is added. */
  result: string
  run: (context: GraphQLContext, input: Input) => Promise<NoInfer<Payload> | { __typename: string }>
}) {
  const {
    name,
    description,
    deprecationReason,
    input,
    inputDescription,
    payload,
    otherPayloads = [],
    errors,
    result,
    run,
  } = options
  // The types are fixed here, because Pothos cannot compute with type parameters.
  const members = [payload, ...otherPayloads, ...errors] as ObjectRef<Types, { __typename: string }>[]
  const Input = input as unknown as InputObjectRef<Types, object>
  const Result = builder.unionType(`${name[0]!.toUpperCase()}${name.slice(1)}Result`, {
    description: `${result}, or an error that the caller can correct.`,
    types: members,
    resolveType: ({ __typename }) => __typename,
  })
  builder.mutationField(name, (t) =>
    t.field({
      type: Result,
      description,
      ...(deprecationReason !== undefined && { deprecationReason }),
      args: { input: t.arg({ type: Input, required: true, description: inputDescription }) },
      resolve: async (_root, args, context) => {
        try {
          return { __typename: payload.name, ...(await run(context, args.input as Input)) }
        } catch (error) {
          if (error instanceof RepriseError) return errorShape(error)
          throw error
        }
      },
    }),
  )
  return Result
}
