import { serverNow, useServerNow } from '../api/clock.ts'
import { relativeMoment } from '../words/moment.ts'
import { useMoments } from './moments.ts'

const TICKS_WITHIN_MS = 3_600_000

/** `12 s ago`, by the server's clock; when that was, if it is pointed at. */
export function Ago({ at, said }: { at: string; said?: string }) {
  const then = Date.parse(at)
  const now = useServerNow(serverNow() - then < TICKS_WITHIN_MS)
  const { absolute } = useMoments()
  return (
    <time dateTime={at} title={said === undefined ? absolute(then) : `${said} ${absolute(then)}`}>
      {relativeMoment(Math.min(then, now), now)}
    </time>
  )
}
