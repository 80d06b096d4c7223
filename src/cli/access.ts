import { Command, Option } from 'commander'
import type { AuditFilter, TokenRole } from '../client/node/index.ts'
import { act, actAsList, actOnOne, collect, describedCommand, takeAll } from './client-command.ts'
import { findSession, findToken } from './find.ts'
import { importUsers } from './import-users.ts'
import { API_ENUMS } from './options/api-enums.generated.ts'
import { choice, decimal, future, type None, nullForNone, oneOf, orNone, past, wholeNumber } from './options/values.ts'
import { instant, relative, tokenScope } from './output/format.ts'

export function domainsCommand(): Command {
  return new Command('domains')
    .description('domains: groups of projects with their own defaults and quotas')
    .addCommand(listDomains(), { isDefault: true })
    .addCommand(createDomain())
}

function listDomains(): Command {
  return actAsList(
    describedCommand('list', 'list the domains that you may see', ['reprise domains']),
    (client, options) => client.domains(options),
    [
      { title: 'DOMAIN', value: ({ name }) => name },
      { title: 'CREATED', value: ({ createdAt }) => relative(createdAt), align: 'right' },
      { title: 'ID', value: ({ domainId }) => domainId, id: true },
    ],
    'no domains',
  )
}

function createDomain(): Command {
  const command = describedCommand('create', 'create a domain, for administrators', ['reprise domains create physics'])
  return actOnOne(
    command.argument('<name>'),
    (client, name) => client.createDomain(name),
    ({ name, domainId }) => `${name} ${domainId}: created`,
  )
}

export function usersCommand(): Command {
  return new Command('users')
    .description('users and their projects, for administrators')
    .addCommand(listUsers(), { isDefault: true })
    .addCommand(createUser())
    .addCommand(deleteUser())
    .addCommand(importUsers())
}

function listUsers(): Command {
  return actAsList(
    describedCommand('list', 'list users with their projects', ['reprise users']),
    (client, options) => client.users(options),
    [
      { title: 'USER', value: ({ name }) => name },
      {
        title: 'PROJECTS',
        value: ({ memberships }) => memberships.map(({ project, role }) => `${project.name} (${role})`).join(', '),
        flexible: true,
      },
      { title: 'CREATED', value: ({ createdAt }) => relative(createdAt) },
      { title: 'ID', value: ({ userId }) => userId, id: true },
    ],
    'no users',
  )
}

function createUser(): Command {
  const command = describedCommand('create', 'create a user; `projects grant` makes it a member of a project', [
    'reprise users create grace',
  ])
  return actOnOne(
    command.argument('<name>'),
    (client, name) => client.createUser(name),
    ({ name, userId }) => `${name} ${userId}: created`,
  )
}

function deleteUser(): Command {
  const command = describedCommand(
    'delete',
    'delete a user: memberships end, tokens are revoked; sessions stay and continue',
    ['reprise users delete grace'],
  )
  return act(command.argument('<name>'), async ({ client, out }, _options, [name]) => {
    await client.deleteUser(name!)
    out.show({ name }, () => `${name}: deleted`)
  })
}

export function projectsCommand(): Command {
  return new Command('projects')
    .description('projects and their members')
    .addCommand(listProjects(), { isDefault: true })
    .addCommand(createProject())
    .addCommand(updateProject())
    .addCommand(grant())
    .addCommand(revoke())
}

function listProjects(): Command {
  return actAsList(
    describedCommand('list', 'list the projects that you may see', ['reprise projects']),
    (client, options) => client.projects(options),
    [
      { title: 'PROJECT', value: ({ name }) => name },
      { title: 'DOMAIN', value: ({ domain }) => domain },
      { title: 'MEMBERS END', value: ({ membersEndAll }) => (membersEndAll ? 'all work' : 'their own') },
      { title: 'CREATED', value: ({ createdAt }) => relative(createdAt) },
      { title: 'ID', value: ({ projectId }) => projectId, id: true },
    ],
    'no projects',
  )
}

function createProject(): Command {
  const command = describedCommand('create', 'create a project, for administrators', [
    'reprise projects create vision --domain default',
  ])
    .argument('<name>')
    .option('--domain <domain>', 'domain that it belongs to')
  return actOnOne(
    command,
    (client, name, { domain }: { domain?: string }) => client.createProject({ name, domain }),
    ({ name, projectId, domain }) => `${name} ${projectId}: created in the domain ${domain}`,
  )
}

interface ProjectOptions {
  membersEnd?: string
  outputKeepDays?: number | None
}

function updateProject(): Command {
  const command = describedCommand('update', 'change a project, for its administrators', [
    'reprise projects update default --members-end all',
    'reprise projects update default --output-keep-days 90',
  ])
    .argument('<project>')
    .addOption(
      new Option('--members-end <work>', 'work that members may end: their own, or all of the project').choices([
        'own',
        'all',
      ]),
    )
    .option('--output-keep-days <days>', 'days to keep outputs; none: as long as the server does', orNone(decimal))
  return actOnOne(
    command,
    (client, name, { membersEnd, outputKeepDays: days }: ProjectOptions) =>
      client.updateProject({
        name,
        membersEndAll: membersEnd === undefined ? undefined : membersEnd === 'all',
        outputKeepDays: nullForNone(days),
      }),
    ({ name, membersEndAll, outputKeepDays: days }) =>
      [
        `${name}: members end ${membersEndAll ? 'all work' : 'their own work'}`,
        days === null ? 'outputs are kept as long as the server says' : `outputs are kept for ${days} days`,
      ].join('; '),
  )
}

function grant(): Command {
  const command = describedCommand('grant', 'make a user a member of a project, or change the role there', [
    'reprise projects grant research ada member',
  ])
    .argument('<project>')
    .argument('<user>')
    .argument('<role>', 'admin, member or viewer')
  return act(command, async ({ client, out }, _options, [project, user, given]) => {
    const role = oneOf(given!, API_ENUMS.TokenRole)
    await client.setProjectMember({ project: project!, user: user!, role })
    out.show({ project, user, role }, () => `${user} is ${role} of ${project}`)
  })
}

function revoke(): Command {
  const command = describedCommand('revoke', 'remove a user from a project', ['reprise projects revoke research ada'])
    .argument('<project>')
    .argument('<user>')
  return act(command, async ({ client, out }, _options, [project, user]) => {
    await client.removeProjectMember({ project: project!, user: user! })
    out.show({ project, user, role: null }, () => `${user} is no longer a member of ${project}`)
  })
}

export function tokensCommand(): Command {
  return new Command('tokens')
    .description('access tokens, for administrators')
    .addCommand(listTokens(), { isDefault: true })
    .addCommand(createToken())
    .addCommand(revokeToken())
}

function listTokens(): Command {
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
        { title: 'OF', value: shortScope, flexible: true },
        { title: 'USER', value: ({ user }) => user?.name, optional: true, flexible: true },
        { title: 'BEGINS', value: ({ prefix }) => prefix, flexible: true },
        { title: 'USED', value: ({ lastUsedAt }) => relative(lastUsedAt), align: 'right' },
        { title: 'ENDS', value: (token) => (token.revokedAt ? 'revoked' : relative(token.expiresAt)), align: 'right' },
      ],
      'no tokens',
    )
  })
}

function shortScope(token: Parameters<typeof tokenScope>[0]): string {
  return tokenScope(token)
    .replace('the whole cluster', 'all')
    .replace(/(the )?resource /, '')
}

interface CreateTokenOptions {
  role: TokenRole
  project?: string
  user?: string
  expires?: string
  resourceGroup?: string[]
}

function createToken(): Command {
  const command = describedCommand('create', 'create a token and print it on standard output; it is shown only once', [
    'reprise tokens create ci --role member --project default --expires 90d',
    'reprise tokens create laptop --role member --project research --user ada',
    'reprise tokens create node-7 --role agent --resource-group gpu > /etc/reprise/token',
  ])
    .argument('<name>', 'description')
    .addOption(choice('--role <role>', 'role', API_ENUMS.TokenRole).makeOptionMandatory())
    .option('-p, --project <project>', 'the only project that it can access')
    .option('-u, --user <user>', 'user who owns the sessions that it creates; the user must be a member of the project')
    .option(
      '--resource-group <group>',
      'a resource group that its agents may join (default: any); may be repeated',
      collect,
    )
    .option('--expires <time>', 'expiry; a time or a duration from now', future)
  return act<CreateTokenOptions>(command, async ({ client, out }, options, [name]) => {
    const { role, project, user, expires: expiresAt, resourceGroup: resourceGroups } = options
    const input = { name: name!, role, project, user, resourceGroups, expiresAt }
    const { secret, token } = await client.createToken(input)
    const end = token.expiresAt ? `, until ${instant(token.expiresAt)}` : ''
    const owner = token.user ? ` for ${token.user.name}` : ''
    out.note(`token ${token.tokenId}, ${token.role} of ${tokenScope(token)}${owner}${end}; shown once:`)
    out.show({ secret, token }, () => secret)
  })
}

function revokeToken(): Command {
  const command = describedCommand('revoke', 'revoke a token; takes effect on every server within seconds', [
    'reprise tokens revoke 01990000-0000-7000-8000-000000000000',
  ])
  return actOnOne(
    command.argument('<token>', 'id, its beginning, or name of a token, as `tokens` lists it'),
    async (client, text) => client.revokeToken(await findToken(client, text)),
    ({ name, tokenId }) => `${name} ${tokenId}: revoked`,
  )
}

interface AuditOptions {
  project?: string
  by?: string
  actor?: string
  session?: string
  action?: string[]
  /** False with `--no-automatic`. */
  automatic: boolean
  refused?: boolean
  since?: string
  limit: number
}

export function auditCommand(): Command {
  const command = describedCommand('audit', 'list the audit log, newest first, for administrators', [
    'reprise audit --since 1d',
    'reprise audit --refused --limit 100',
    'reprise audit --no-automatic --actor ada',
    'reprise audit --action token.create --action token.revoke --json',
  ])
    .option('-p, --project <project>', 'about this project')
    .option('--by <token>', 'actions of this token')
    .option('--actor <part>', 'actions of actors with this part of a name')
    .option('--no-automatic', 'without actions of the server itself, such as retries')
    .option('--session <session>', 'about this session')
    .option('--action <name>', 'actions of this name, like session.create; may be repeated', collect)
    .option('--refused', 'only refused actions')
    .option('--since <time>', 'since this time, or a duration ago like 2h', past)
    .option('--limit <n>', 'at most this many', wholeNumber, 20)
  return act<AuditOptions>(command, async ({ client, out, signal }, options) => {
    const { project, by, actor: actorContains, session, action, automatic, refused, since, limit } = options
    const at = since === undefined ? undefined : { gte: since }
    const tokenId = by && (await findToken(client, by))
    const sessionId = session && (await findSession(client, session))
    const people = automatic ? {} : { automatic }
    const filter: AuditFilter = { project, tokenId, actorContains, sessionId, action, ...people, refused, at }
    const entries = []
    for await (const entry of client.auditLog(filter, { signal })) if (entries.push(entry) >= limit) break
    await out.table(
      entries,
      [
        { title: 'AT', value: (entry) => instant(entry.at) },
        { title: 'ACTOR', value: ({ actor }) => actor, flexible: true },
        { title: 'FROM', value: ({ address }) => address ?? '', flexible: true },
        { title: 'ACTION', value: ({ action: name }) => name, kept: true },
        { title: 'DETAILS', value: ({ data }) => JSON.stringify(data), flexible: true },
      ],
      'no entries',
    )
  })
}
