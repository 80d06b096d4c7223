import { endServices } from '../run/run-service.ts'

/** The run of an ordinary user has no watchdog: it ends its engine and its cluster itself. */
export default function setup(): () => Promise<void> {
  return () => endServices(process.env['HOME']!)
}
