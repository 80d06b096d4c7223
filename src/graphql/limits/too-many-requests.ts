import { GraphQLError } from 'graphql'
import { ERRORS, type RepriseError } from '../../domain/errors.ts'
import { RATE_RETRY_AFTER_SECONDS } from '../../domain/limits.ts'

export function tooManyRequests({ code, message }: RepriseError): GraphQLError {
  const headers = { 'Retry-After': String(RATE_RETRY_AFTER_SECONDS) }
  return new GraphQLError(message, { extensions: { code, http: { status: ERRORS[code].httpStatus, headers } } })
}
