import type { ErrorType, RepriseError, ValidationIssue } from '../../domain/errors.ts'
import { builder } from '../builder.ts'

/**
 * An error that the caller can correct, as plain data: the executor would throw an `Error` object instead of returning
 * it.
 */
export interface ErrorShape {
  __typename: ErrorType
  code: string
  message: string
  issues: readonly ValidationIssue[]
}

export function errorShape({ type, code, message, issues }: RepriseError): ErrorShape {
  return { __typename: type, code, message, issues }
}

const ErrorInterface = builder.interfaceRef<ErrorShape>('Error').implement({
  description: 'An error that the caller can correct.',
  resolveType: ({ __typename }) => __typename,
  fields: (t) => ({
    code: t.exposeString('code', { description: 'Error code, for programs: one of a fixed list.' }),
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
export const QuotaExceededError = errorType('QuotaExceededError', 'A quota does not allow it.')
export const ForbiddenError = errorType('ForbiddenError', 'Your token does not allow it.')
export const InvalidStateError = errorType('InvalidStateError', 'The operation is not allowed in the present state.')

function errorType(name: Exclude<ErrorType, 'ValidationError'>, description: string) {
  return builder.objectRef<ErrorShape>(name).implement({ description, interfaces: [ErrorInterface] })
}
