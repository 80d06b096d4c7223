import { SessionResource } from '../resources/session.resource.ts'
import { pageOf } from './paging.ts'

/** Shared by the routes that list sessions: a component of the OpenAPI document has one schema. */
export const SessionPage = pageOf(SessionResource).openapi('SessionPage')
