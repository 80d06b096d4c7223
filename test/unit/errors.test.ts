import { expect, it } from 'vitest'
import { ERRORS, RepriseError, type ErrorCode } from '../../src/domain/errors.ts'

const codes = Object.keys(ERRORS) as ErrorCode[]

it.each(codes)('%s is thrown as its row says', (code) => {
  const error = new RepriseError(code, 'why', [{ path: 'name', message: 'is missing' }])
  expect(error).toMatchObject({ code, name: ERRORS[code].type, type: ERRORS[code].type, message: 'why' })
  expect(error.issues).toEqual([{ path: 'name', message: 'is missing' }])
})

it.each(codes)('%s has the status of its type', (code) => {
  const statuses = {
    ValidationError: [422],
    NotFoundError: [404],
    ConflictError: [409],
    QuotaExceededError: [429],
    ForbiddenError: [401, 403],
    InvalidStateError: [409],
    RequestError: [400, 405, 408, 413, 415, 503, 507],
  }
  expect(statuses[ERRORS[code].type]).toContain(ERRORS[code].httpStatus)
  expect(code).toMatch(/^[A-Z]+(_[A-Z]+)*$/)
})
