import { serverNow } from '../../api/clock.ts'
import { useMoments } from '../../app/moments.ts'
import { relativeMoment } from '../../words/moment.ts'

/** `3 d ago`, `in 2 h`; when exactly, if it is pointed at. */
export function When({ at }: { at: string }) {
  const { absolute } = useMoments()
  return (
    <time dateTime={at} title={absolute(Date.parse(at))}>
      {relativeMoment(Date.parse(at), serverNow())}
    </time>
  )
}

/** `23 Nov, 12:04:31`; of another year `2040-01-31 12:00:00 UTC`. */
export function At({ at }: { at: string }) {
  const { absolute, day, clock } = useMoments()
  const time = Date.parse(at)
  const exactly = absolute(time)
  const isThisYear = exactly.slice(0, 4) === absolute(serverNow()).slice(0, 4)
  return (
    <time dateTime={at} title={exactly}>
      {isThisYear ? `${day(time)}, ${clock(time)}` : exactly}
    </time>
  )
}
