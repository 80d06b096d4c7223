import { expect, test } from 'vitest'
import { ApiError, errorOfFailure, errorOfFaults, InternalError } from '../../../src/client/errors.ts'
import { presentError } from '../../../src/cli/present-error.ts'
import { type ErrorCode, ERRORS, type ErrorType } from '../../../src/domain/errors.ts'

/** Requests that are refused before they are read have no result. */
const CODES = (Object.keys(ERRORS) as ErrorCode[]).filter((code) => ERRORS[code].type !== 'RequestError')

test.each(CODES)('%s in a result is of the class of its type', (code) => {
  const { type } = ERRORS[code]
  const error = errorOfFailure({ __typename: type, code, message: 'm' })
  expect(error).toBeInstanceOf(ApiError)
  expect({ name: error.name, code: error.code, message: error.message }).toEqual({ name: type, code, message: 'm' })
})

test.each(Object.keys(ERRORS) as ErrorCode[])('%s among the errors of an answer is what the table says', (code) => {
  const { type, httpStatus, retryable } = ERRORS[code]
  const error = errorOfFaults([{ message: 'm', extensions: { code } }])
  expect(error).toMatchObject({ name: httpStatus >= 500 ? 'UnavailableError' : type, code, retryable })
})

/** Exit statuses by type, of all codes: a program that calls the command line branches on these. */
const STATUSES: Record<ErrorType, number> = {
  ValidationError: 2,
  NotFoundError: 3,
  ForbiddenError: 4,
  ConflictError: 5,
  InvalidStateError: 5,
  QuotaExceededError: 5,
  RequestError: 1,
}

test.each(Object.keys(ERRORS) as ErrorCode[])('%s has the exit status of its type', (code) => {
  const { type, httpStatus } = ERRORS[code]
  const { status } = presentError(errorOfFaults([{ message: 'm', extensions: { code } }]), undefined)
  expect(status).toBe(httpStatus >= 500 ? 69 : STATUSES[type])
})

test('issues and request id are kept', () => {
  const issues = [{ path: 'name', message: 'is empty' }]
  expect(
    errorOfFailure({ __typename: 'ValidationError', code: 'VALIDATION_FAILED', message: 'm', issues }),
  ).toMatchObject({ issues })
  const fault = errorOfFaults([{ message: 'm', extensions: { code: 'INTERNAL', requestId: 'r1' } }])
  expect(fault).toBeInstanceOf(InternalError)
  expect(fault).toMatchObject({ requestId: 'r1', retryable: true })
})

test('what is not known is an ApiError with the server’s code', () => {
  expect(errorOfFailure({ __typename: 'NewError', code: 'NEW', message: 'm' })).toMatchObject({ code: 'NEW' })
  expect(errorOfFaults([{ message: 'm' }])).toMatchObject({ name: 'ApiError', code: 'GRAPHQL_ERROR' })
})
