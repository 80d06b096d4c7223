import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import { serverNow } from '../../api/clock.ts'
import { useAct } from '../../app/act.ts'
import { GuardedButton } from '../../app/guarded-button.tsx'
import { lazyDialog } from '../../app/lazy-part.tsx'
import { useChangeSearch, useList } from '../../app/list/list-page.tsx'
import { noAdministration, useViewer } from '../../app/viewer.ts'
import type { Column } from '../../design/table.tsx'
import { At, Foot, over, Part, Rows, Section, When } from './section.tsx'
import { UiRevokeTokenDocument, type UiTokenFragment, UiTokensDocument } from './settings.generated.ts'

const SecretDialog = lazyDialog(() => import('./secret-dialog.tsx'), 'SecretDialog')
const TokenForm = lazyDialog(() => import('./token-form.tsx'), 'TokenForm')
const Confirm = lazyDialog(() => import('../../app/confirm.tsx'), 'Confirm')

const EVERY_MS = 5_000
const ROWS = 100
const route = getRouteApi('/frame/settings/tokens')

/** The tokens and their roles. */
export function TokensSection() {
  const { dropped, show } = route.useSearch()
  const change = useChangeSearch<'tokens'>()
  const viewer = useViewer()
  const list = useList(UiTokensDocument, { first: ROWS }, ({ tokens }) => tokens, EVERY_MS)
  const act = useAct()
  const [isMaking, setMaking] = useState(false)
  const [made, setMade] = useState<{ name: string; secret: string } | null>(null)
  const [asked, setAsked] = useState<UiTokenFragment | null>(null)
  const refusal = noAdministration(viewer, 'PROJECT')
  const revoke = async ({ tokenId, name }: UiTokenFragment) => {
    setAsked(null)
    const done = await act(UiRevokeTokenDocument, { tokenId }, { about: name, done: `${name} is revoked.` })
    if (done) list.again()
  }
  const rows = show === 'all' ? list.rows : list.rows.filter((token) => endOf(token) === null)
  return (
    <Section
      says="A token identifies a person, a program or an agent. Revoking one ends its use within seconds, in open pages too."
      dropped={dropped}
      acts={
        <>
          <GuardedButton
            kind="quiet"
            refusal={refusal}
            aria-pressed={show === 'all'}
            onClick={() => change({ show: show === 'all' ? undefined : 'all' })}
          >
            {show === 'all' ? 'Only valid ones' : 'Also revoked and expired'}
          </GuardedButton>
          <GuardedButton kind="primary" refusal={refusal} onClick={() => setMaking(true)}>
            New token…
          </GuardedButton>
        </>
      }
    >
      <Part read={list}>
        {() => (
          <Rows
            label="Tokens"
            className="settings-tokens"
            list={list}
            columns={COLUMNS}
            rows={rows}
            rowProps={(token) => over(endOf(token) !== null)}
            renderActs={(token) =>
              endOf(token) === null && (
                <GuardedButton
                  kind="quiet"
                  refusal={refusal}
                  aria-label={`Revoke ${token.name}`}
                  onClick={() => setAsked(token)}
                >
                  Revoke…
                </GuardedButton>
              )
            }
            empty={
              <>
                <h2>No tokens here</h2>
                <p>Revoked and expired ones are left out.</p>
              </>
            }
          />
        )}
      </Part>
      <Foot list={list} />
      <>
        {isMaking && (
          <TokenForm
            onClose={() => setMaking(false)}
            onDone={(name, secret) => {
              setMaking(false)
              setMade({ name, secret })
              list.again()
            }}
          />
        )}
        {asked && (
          <Confirm title="Revoke 1 token?" act="Revoke" onAct={() => void revoke(asked)} onClose={() => setAsked(null)}>
            Everyone who uses {asked.name} ({asked.prefix}…) is refused from now on
            {asked.role === 'AGENT' && ', and agents that use it are cut off'}. This cannot be undone.
          </Confirm>
        )}
        {made && (
          <SecretDialog
            title={`The token ${made.name}`}
            says="Give it to its user. Only a hash of it is stored."
            secret={made.secret}
            onClose={() => setMade(null)}
          />
        )}
      </>
    </Section>
  )
}

/** The time and reason of a token's end; null while it is valid. */
function endOf({ revokedAt, expiresAt }: UiTokenFragment): { words: string; at: string } | null {
  if (revokedAt !== null) return { words: 'revoked', at: revokedAt }
  return expiresAt !== null && Date.parse(expiresAt) <= serverNow() ? { words: 'expired', at: expiresAt } : null
}

const COLUMNS: readonly Column<UiTokenFragment>[] = [
  {
    title: 'Token',
    value: ({ name }) => name,
    cell: ({ name, prefix }) => (
      <>
        <span className="settings-main">{name}</span>
        <code className="settings-aside">{prefix}…</code>
      </>
    ),
  },
  { title: 'Role', value: ({ role }) => role, cell: ({ role }) => role.toLowerCase() },
  {
    title: 'Sees',
    isNamed: true,
    cell: ({ project, role, resourceGroups }) =>
      project?.name ?? (role === 'AGENT' ? resourceGroups.join(', ') || 'all groups' : 'all projects'),
  },
  { title: 'Of', isNamed: true, value: ({ user }) => user?.name ?? null, cell: ({ user }) => user?.name ?? null },
  {
    title: 'Last used',
    isNamed: true,
    value: ({ lastUsedAt }) => lastUsedAt,
    isDown: true,
    cell: ({ lastUsedAt }) => (lastUsedAt === null ? 'never' : <When at={lastUsedAt} />),
  },
  {
    title: 'Expires',
    isNamed: true,
    value: (token) => endOf(token)?.at ?? token.expiresAt,
    cell: (token) => {
      const end = endOf(token)
      if (end)
        return (
          <>
            {end.words} <When at={end.at} />
          </>
        )
      return token.expiresAt === null ? 'never' : <At at={token.expiresAt} />
    },
  },
]
