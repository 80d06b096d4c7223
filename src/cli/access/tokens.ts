import { Command } from 'commander'
import type { TokenRole } from '../../client/node/index.ts'
import { act, collect, describedCommand } from '../client-command.ts'
import { findToken } from '../find/find-others.ts'
import { choice, future } from '../options/values.ts'
import { API_ENUMS } from '../options/api-enums.generated.ts'
import { instant, relative } from '../output/time.ts'
import { takeAll } from '../session/take.ts'

export function tokensCommand(): Command {
  return new Command('tokens')
    .description('access tokens, for administrators')
    .addCommand(list(), { isDefault: true })
    .addCommand(create())
    .addCommand(revoke())
}

function list(): Command {
  const command = describedCommand('list', 'list tokens, newest first', ['reprise tokens', 'reprise tokens list --all'])
  command.option('--all', 'include revoked tokens')
  return act<{ all?: boolean }>(command, async ({ client, out, signal }, { all }) => {
    const tokens = await takeAll(client.tokens({ signal }))
    await out.table(
      tokens.filter(({ revokedAt }) => all || !revokedAt),
      [
        { title: 'TOKEN', value: ({ tokenId }) => tokenId, id: true },
        { title: 'NAME', value: ({ name }) => name, flexible: true },
        { title: 'ROLE', value: ({ role }) => role },
        { title: 'PROJECT', value: ({ project }) => project?.name ?? 'all', flexible: true },
        { title: 'BEGINS', value: ({ prefix }) => prefix, flexible: true },
        { title: 'USED', value: ({ lastUsedAt }) => relative(lastUsedAt), align: 'right' },
        { title: 'ENDS', value: (token) => (token.revokedAt ? 'revoked' : relative(token.expiresAt)), align: 'right' },
      ],
      'no tokens',
    )
  })
}

interface CreateOptions {
  role: TokenRole
  project?: string
  expires?: string
  resourceGroup?: string[]
}

function create(): Command {
  const command = describedCommand('create', 'create a token and print it, only this once, on standard output', [
    'reprise tokens create ci --role member --project default --expires 90d',
    'reprise tokens create node-7 --role agent --resource-group gpu > /etc/reprise/token',
  ])
    .argument('<name>', 'description')
    .addOption(choice('--role <role>', 'role', API_ENUMS.TokenRole).makeOptionMandatory())
    .option('-p, --project <project>', 'the one project that it sees')
    .option('--resource-group <group>', 'the only group that its agents may join; may be repeated', collect)
    .option('--expires <time>', 'expiry; a time or a duration from now', future)
  return act<CreateOptions>(command, async ({ client, out }, { role, project, expires, resourceGroup }, [name]) => {
    const { secret, token } = await client.createToken({
      name: name!,
      role,
      project,
      resourceGroups: resourceGroup,
      expiresAt: expires,
    })
    const end = token.expiresAt ? `, until ${instant(token.expiresAt)}` : ''
    out.note(
      `token ${token.tokenId}, ${token.role} of ${token.project?.name ?? 'the whole cluster'}${end}; shown once:`,
    )
    out.show({ secret, token }, () => secret)
  })
}

function revoke(): Command {
  const command = describedCommand('revoke', 'revoke a token, on every server within seconds', [
    'reprise tokens revoke 01990000-0000-7000-8000-000000000000',
  ]).argument('<token>', 'id, its beginning, or name of a token, as `tokens` lists it')
  return act(command, async ({ client, out }, _options, [text]) => {
    const token = await client.revokeToken(await findToken(client, text!))
    out.show(token, () => `${token.name} ${token.tokenId}: revoked`)
  })
}
