import type { Command } from 'commander'
import type { CreateSessionInput } from '../../client/node/index.ts'
import { act, describedCommand } from '../client-command.ts'
import { exitStatus } from '../exit-codes.ts'
import { createJobs, printCreated } from '../job/create-jobs.ts'
import { planJobs } from '../job/plan-jobs.ts'
import { addSessionOptions, sessionInput, type SessionOptions } from '../options/session-options.ts'
import { withUpload } from '../upload/with-upload.ts'
import { findNamed } from '../find/find-in-options.ts'

export function createCommand(): Command {
  const command = describedCommand('create', 'create sessions, print their ids, and leave them to the server', [
    'reprise create --retries 5 --name nightly -- ~/nightly.sh',
    'reprise create --policy policy.json --creation-id nightly-2026-11-21 -- ~/nightly.sh',
    'reprise create --depends-on nightly --name report -- ~/work.sh',
    'reprise create --array 1..100 --name sim-{i} --retries 2 -- ~/simulate.sh --seed {i}',
    'reprise create --file jobs.yaml --label study=7 --creation-id study-7',
    'id=$(reprise create -- ~/work.sh) && reprise logs --follow $id',
  ]).argument('[command...]', 'command to run, after --')
  return act<SessionOptions>(
    addSessionOptions(command),
    async (context, given, args) => {
      const { client, out, signal } = context
      const options = await withUpload(context, given)
      const planned = await planJobs(options, args)
      if (planned) {
        const made = await createJobs(context, planned)
        printCreated(out, made)
        return made.left > 0 ? exitStatus('INTERRUPTED') : made.status
      }
      const input = sessionInput(await findNamed(client, options), args) as CreateSessionInput
      const { session, created } = await client.createSession(input, { signal })
      if (!created) out.note('it already existed')
      out.show({ created, session }, () => session.sessionId)
      return 0
    },
    { endsItself: true },
  )
}
