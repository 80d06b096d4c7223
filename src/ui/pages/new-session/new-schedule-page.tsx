import { getRouteApi } from '@tanstack/react-router'
import { SessionFormPage } from './session-form.tsx'

const route = getRouteApi('/frame/schedules/new')

/** A schedule from a form, with its next runs and their retries drawn while they are typed. */
export function NewSchedulePage() {
  return <SessionFormPage what="schedule" title="New schedule" search={route.useSearch()} />
}
