import type { InputFieldBuilder, InputObjectRef, ObjectRef } from '@pothos/core'
import { z } from 'zod'
import { RepriseError } from '../../domain/errors.ts'
import { CLIENT_KEY_KEPT_DAYS_MAX, CLIENT_KEY_LENGTH_MAX, REASON_LENGTH_MAX } from '../../domain/limits.ts'
import { isStorableText, STORABLE_TEXT } from '../../domain/storable-text.ts'
import { once } from '../../services/client-keys.ts'
import { text } from '../../services/input/input-fields.ts'
import { parseInput } from '../../services/input/parse-input.ts'
import { builder } from '../builder.ts'
import type { GraphQLContext } from '../context.ts'
import { ConflictError, errorShape, ValidationError } from './error.types.ts'

type Types = typeof builder.$inferSchemaTypes
// Members of one union have different shapes.
// oxlint-disable-next-line typescript/no-explicit-any
type AnyObject = ObjectRef<Types, any>

/** The field `reason` of an input whose service does not read it: it is recorded in the audit log. */
export const reasonField = (t: InputFieldBuilder<Types, 'InputObject'>) => ({
  reason: t.string({ description: 'The reason, for people; recorded in the audit log.' }),
})

/** The fields of an input that clients may repeat: the reason, and a key that makes the mutation idempotent. */
export const repeatableFields = (t: InputFieldBuilder<Types, 'InputObject'>) => ({ ...reasonField(t), ...keyField(t) })

export const keyField = (t: InputFieldBuilder<Types, 'InputObject'>) => ({
  clientKey: t.string({
    description: `Idempotency key chosen by the client, unique in the project: a repeated request with the same key changes nothing, and returns what the first one did. Kept for ${CLIENT_KEY_KEPT_DAYS_MAX} days.`,
  }),
})

const commonSchema = z.object({
  reason: z.string().min(1).max(REASON_LENGTH_MAX).refine(isStorableText, STORABLE_TEXT).nullish(),
  clientKey: text(CLIENT_KEY_LENGTH_MAX).nullish(),
})

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
  /** Whether the input has the fields of `repeatableFields`. */
  repeatable?: boolean
  /** Whether the service reads `reason` of the input. In any case, the audit log records it. */
  readsReason?: boolean
  /** Whether the service reads `clientKey` of the input. Otherwise, the mutation is done once for each key. */
  readsClientKey?: boolean
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
    result,
    run,
  } = options
  // A reason that is too long is an error of every input.
  const errors = new Set([ValidationError, ...(options.repeatable ? [ConflictError] : []), ...options.errors])
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
          const { clientKey, input: given } = commonFields(context, args.input, options)
          const work = (workContext: GraphQLContext) => run(workContext, given as Input)
          const done =
            clientKey === null
              ? await work(context)
              : await once(context, { key: clientKey, operation: name, input: given }, work)
          return { __typename: payload.name, ...done }
        } catch (error) {
          if (error instanceof RepriseError) return errorShape(error)
          throw error
        }
      },
    }),
  )
  return Result
}

/**
 * Reads the fields that the services do not read, and notes the reason for the entries of the audit log; the mutations of
 * an operation run one after the other. `input` is the rest.
 */
function commonFields(
  context: GraphQLContext,
  given: object,
  { readsReason = false, readsClientKey = false }: { readsReason?: boolean; readsClientKey?: boolean },
): { clientKey: string | null; input: object } {
  const { reason: why, clientKey: key, ...rest } = given as { reason?: unknown; clientKey?: unknown }
  const read = {
    ...(readsReason && why !== undefined && { reason: why }),
    ...(readsClientKey && key !== undefined && { clientKey: key }),
  }
  const { reason = null, clientKey = null } = parseInput(commonSchema, {
    reason: readsReason ? null : why,
    clientKey: readsClientKey ? null : key,
  })
  context.viewer = { ...context.viewer, reason }
  return { clientKey, input: { ...rest, ...read } }
}
