import { getRouteApi } from '@tanstack/react-router'
import { SessionFormPage } from './session-form.tsx'

const route = getRouteApi('/frame/chains/new')

/** A session from a form, with its retries drawn while they are typed. */
export function NewSessionPage() {
  return <SessionFormPage what="session" title="New session" search={route.useSearch()} />
}
