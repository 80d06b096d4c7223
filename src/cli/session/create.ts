import type { Command } from 'commander'
import { act, describedCommand } from '../client-command.ts'
import { addSessionOptions, sessionInput, type SessionOptions } from '../options/session-options.ts'

export function createCommand(): Command {
  const command = describedCommand('create', 'create a session, print its id, and leave it to the server', [
    'reprise create --retries 5 --name nightly -- ~/nightly.sh',
    'reprise create --policy policy.json --creation-id nightly-2026-11-21 -- ~/nightly.sh',
    'id=$(reprise create -- ~/work.sh) && reprise logs --follow $id',
  ]).argument('<command...>', 'command to run, after --')
  return act<SessionOptions>(addSessionOptions(command), async ({ client, out }, options, args) => {
    const { session, created } = await client.createSession(sessionInput(options, args))
    if (!created) out.note('it already existed')
    out.show({ created, session }, () => session.sessionId)
  })
}
