import { errorOfFailure, isFailure, type Failure } from './api-errors.ts'

/** The payload of a mutation's result. @throws ApiError where the result is one of the errors */
export function payloadOf<Member extends object>(member: Member): Exclude<Member, Failure> {
  if (isFailure(member)) throw errorOfFailure(member)
  return member as Exclude<Member, Failure>
}
