import type { Client } from '../../client/node/index.ts'
import { take, takeAll } from '../session/take.ts'
import { findId } from './find-id.ts'

/**
 * The id of a schedule given by id, by a unique beginning of it, or by name; of several with that name, the newest.
 * @throws NotFoundError, or UsageError for a beginning of several ids
 */
export async function findSchedule(client: Client, text: string): Promise<string> {
  const candidate = ({ scheduleId, name }: { scheduleId: string; name: string }) => ({ id: scheduleId, name })
  return findId(text, {
    noun: 'schedule',
    code: 'SCHEDULE_NOT_FOUND',
    async beginning(prefix) {
      const all = await takeAll(client.schedules())
      return all.filter(({ scheduleId }) => scheduleId.startsWith(prefix.toLowerCase())).map(candidate)
    },
    async named(name) {
      const { items } = await take(client.schedules({ filter: { name: { equals: name } } }), 1)
      return items.map(candidate)[0]
    },
  })
}

export const SCHEDULE_ARGUMENT = 'id, its beginning, or name of a schedule; a name means the newest one'
