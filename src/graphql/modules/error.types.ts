import type { ErrorCode, ErrorType, ObjectInTheWay, RepriseError, ValidationIssue } from '../../domain/errors.ts'
import { builder } from '../builder.ts'
import { loadSession } from '../loaders/load-session.ts'
import { ErrorCodeEnum } from './error-codes.ts'
import { SessionNode } from './session/session.types.ts'

/**
 * An error that the caller can correct, as plain data: the executor would throw an `Error` object instead of returning
 * it.
 */
export interface ErrorShape {
  __typename: ErrorType
  code: ErrorCode
  message: string
  issues: readonly ValidationIssue[]
  inTheWay: ObjectInTheWay | null
}

export function errorShape({ type, code, message, issues, inTheWay }: RepriseError): ErrorShape {
  return { __typename: type, code, message, issues, inTheWay }
}

const ErrorInterface = builder.interfaceRef<ErrorShape>('Error').implement({
  description: 'An error that the caller can correct.',
  resolveType: ({ __typename }) => __typename,
  fields: (t) => ({
    code: t.expose('code', { type: ErrorCodeEnum, description: 'Error code, for programs.' }),
    message: t.exposeString('message', { description: 'Explanation, for people.' }),
  }),
})

const IssueType = builder.objectRef<ValidationIssue>('ValidationIssue').implement({
  description: 'One problem with an input.',
  fields: (t) => ({
    path: t.exposeString('path', { description: "Path from the input's root: `environ.0.name`." }),
    message: t.exposeString('message', { description: 'Explanation of the problem, for people.' }),
  }),
})

export const ValidationError = builder.objectRef<ErrorShape>('ValidationError').implement({
  description: 'The input is invalid.',
  interfaces: [ErrorInterface],
  fields: (t) => ({
    issues: t.field({ type: [IssueType], description: 'All problems of the input.', resolve: ({ issues }) => issues }),
  }),
})

export const NotFoundError = errorType('NotFoundError', 'The object does not exist, or you may not see it.')
export const ConflictError = errorType('ConflictError', 'The input conflicts with existing data.')
builder.objectField(ConflictError, 'existing', (t) =>
  t.node({
    description:
      'The object that exists already: it has the creation id, the client key or the name. Null if you may not see it, or if it has been deleted meanwhile.',
    id: ({ inTheWay }) => inTheWay,
  }),
)

export const QuotaExceededError = errorType('QuotaExceededError', 'A quota does not allow it.')
export const ForbiddenError = errorType('ForbiddenError', 'Your token does not allow it.')
export const InvalidStateError = errorType('InvalidStateError', 'The operation is not allowed in the present state.')
builder.objectField(InvalidStateError, 'childSession', (t) =>
  t.field({
    type: SessionNode,
    nullable: true,
    description: 'The session in the way: the next attempt, which the session already has. Null for other obstacles.',
    resolve: ({ inTheWay }, _args, context, info) =>
      inTheWay?.type === 'Session' ? loadSession({ context, info, by: 'id', value: inTheWay.id }) : null,
  }),
)

function errorType(name: Exclude<ErrorType, 'ValidationError'>, description: string) {
  return builder.objectRef<ErrorShape>(name).implement({ description, interfaces: [ErrorInterface] })
}
