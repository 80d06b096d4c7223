import type { Command } from 'commander'
import type { AuditFilter } from '../../client/node/index.ts'
import { act, collect, describedCommand } from '../client-command.ts'
import { findToken } from '../find/find-others.ts'
import { findSession } from '../find/find-session.ts'
import { past, wholeNumber } from '../options/values.ts'
import { instant } from '../output/time.ts'

interface AuditOptions {
  project?: string
  by?: string
  session?: string
  action?: string[]
  refused?: boolean
  since?: string
  limit: number
}

export function auditCommand(): Command {
  const command = describedCommand('audit', 'who did what, newest first, for administrators', [
    'reprise audit --since 1d',
    'reprise audit --refused --limit 100',
    'reprise audit --action token.create --action token.revoke --json',
  ])
    .option('-p, --project <project>', 'concerning this project')
    .option('--by <token>', 'by this token')
    .option('--session <session>', 'about this session')
    .option('--action <name>', 'such actions, like session.create; may be repeated', collect)
    .option('--refused', 'only what was refused')
    .option('--since <time>', 'since this time, or a duration ago like 2h', past)
    .option('--limit <n>', 'at most this many', wholeNumber, 20)
  return act<AuditOptions>(command, async ({ client, out, signal }, options) => {
    const { project, by, session, action, refused, since, limit } = options
    const at = since === undefined ? undefined : { gte: since }
    const tokenId = by && (await findToken(client, by))
    const sessionId = session && (await findSession(client, session))
    const filter: AuditFilter = { project, tokenId, sessionId, action, refused, at }
    const entries = []
    for await (const entry of client.auditLog(filter, { signal })) if (entries.push(entry) >= limit) break
    await out.table(
      entries,
      [
        { title: 'AT', value: (entry) => instant(entry.at) },
        { title: 'ACTOR', value: ({ actor }) => actor, flexible: true },
        { title: 'FROM', value: ({ address }) => address ?? '', flexible: true },
        { title: 'ACTION', value: ({ action: name }) => name, kept: true },
        { title: 'DETAILS', value: ({ details }) => details, flexible: true },
      ],
      'no entries',
    )
  })
}
