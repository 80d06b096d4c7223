import { SessionResource } from './session.resource.ts'
import { pageOf } from '../routes/paging.ts'

/** Shared by the routes that list sessions: a component of the OpenAPI document has one schema. */
export const SessionPage = pageOf(SessionResource).openapi('SessionPage')
