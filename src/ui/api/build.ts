import { isLoginIncomplete } from './session.ts'
import { createStore } from './store.ts'

interface Build {
  /** Of the first answer that this page got. */
  loaded: string | null
  /** Of the newest one. */
  served: string | null
}

/** Which build of the web UI the server has. */
export const build = createStore<Build>({ loaded: null, served: null })

/** Notes what each answer says about it, and about the login. */
export const fetchNoting: typeof fetch = async (...request) => {
  const response = await fetch(...request)
  if (response.headers.get('x-reprise-login') === 'incomplete') isLoginIncomplete.set(true)
  const served = response.headers.get('x-reprise-build')
  const known = build.get()
  if (served !== null && served !== known.served) build.set({ loaded: known.loaded ?? served, served })
  return response
}
