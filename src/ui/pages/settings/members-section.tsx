import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import { useAct } from '../../app/act.ts'
import { GuardedButton } from '../../app/guarded-button.tsx'
import { lazyDialog } from '../../app/lazy-part.tsx'
import { useList } from '../../app/list/list-page.tsx'
import { noAdministration, useViewer } from '../../app/viewer.ts'
import type { Column } from '../../design/table.tsx'
import type { Made, Member, User } from './member-forms.tsx'
import { Foot, Part, Rows, Section } from './section.tsx'
import { UiMembersDocument, UiRemoveMemberDocument } from './settings.generated.ts'

const MemberForm = lazyDialog(() => import('./member-forms.tsx'), 'MemberForm')
const TenantForm = lazyDialog(() => import('./member-forms.tsx'), 'TenantForm')
const Confirm = lazyDialog(() => import('../../app/confirm.tsx'), 'Confirm')

const EVERY_MS = 5_000
const ROWS = 100
const route = getRouteApi('/frame/settings/members')

/** The members of projects with their roles. */
export function MembersSection() {
  const { dropped, project } = route.useSearch()
  const refusal = noAdministration(useViewer(), 'CLUSTER')
  const list = useList(UiMembersDocument, { first: ROWS }, ({ users }) => users, EVERY_MS)
  const act = useAct()
  const [open, setOpen] = useState<{ changed: Member | undefined } | null>(null)
  const [making, setMaking] = useState<Made | null>(null)
  const [asked, setAsked] = useState<Required<Member> | null>(null)
  const done = () => {
    setOpen(null)
    setMaking(null)
    list.again()
  }
  const remove = async ({ user, membership }: Member) => {
    setAsked(null)
    const input = { user: user.name, project: membership!.project.name }
    const words = { about: user.name, done: `${user.name} is no longer a member of ${input.project}.` }
    if (await act(UiRemoveMemberDocument, { input }, words)) list.again()
  }
  const rows = membersOf(list.rows, project)
  const maker = (made: Made, words: string) => (
    <GuardedButton kind="quiet" refusal={refusal} onClick={() => setMaking(made)}>
      {words}
    </GuardedButton>
  )
  return (
    <Section
      says="The roles of users in projects. The tokens of a user can do no more than these roles allow."
      dropped={dropped}
      acts={
        <>
          {maker('domain', 'New domain…')}
          {maker('project', 'New project…')}
          {maker('user', 'New user…')}
          <GuardedButton kind="primary" refusal={refusal} onClick={() => setOpen({ changed: undefined })}>
            Add a member…
          </GuardedButton>
        </>
      }
    >
      <Part read={list}>
        {() => (
          <Rows
            label="Members"
            className="settings-members"
            list={list}
            columns={COLUMNS}
            rows={rows}
            renderActs={(member) => (
              <>
                <GuardedButton
                  kind="quiet"
                  refusal={refusal}
                  aria-label={member.membership ? `Role of ${nameOf(member)}` : `Add ${nameOf(member)} to a project`}
                  onClick={() => setOpen({ changed: member })}
                >
                  {member.membership ? 'Role…' : 'Add…'}
                </GuardedButton>
                {member.membership && (
                  <GuardedButton
                    kind="quiet"
                    refusal={refusal}
                    aria-label={`Remove ${nameOf(member)}`}
                    onClick={() => setAsked(member)}
                  >
                    Remove…
                  </GuardedButton>
                )}
              </>
            )}
            empty={
              <>
                <h2>{project === undefined ? 'No users yet' : `Nobody is a member of ${project}`}</h2>
                <p>Tokens need no user; one of a user has no more rights than its user has.</p>
              </>
            }
          />
        )}
      </Part>
      <Foot list={list} />
      <>
        {open && <MemberForm changed={open.changed} project={project} onDone={done} onClose={() => setOpen(null)} />}
        {making && <TenantForm made={making} onDone={done} onClose={() => setMaking(null)} />}
        {asked && (
          <Confirm
            title="Remove 1 member?"
            act="Remove"
            onAct={() => void remove(asked)}
            onClose={() => setAsked(null)}
          >
            Tokens of {asked.user.name} in {asked.membership!.project.name} can do nothing any more. Running sessions
            continue.
          </Confirm>
        )}
      </>
    </Section>
  )
}

function membersOf(users: readonly User[], project: string | undefined): Member[] {
  return users.flatMap((user): Member[] => {
    const memberships = user.memberships.filter((each) => project === undefined || each.project.name === project)
    if (memberships.length === 0) return project === undefined ? [{ id: user.id, user, membership: undefined }] : []
    return memberships.map((membership) => ({ id: membership.id, user, membership }))
  })
}

function nameOf({ user, membership }: Member): string {
  return membership ? `${user.name} in ${membership.project.name}` : user.name
}

const COLUMNS: readonly Column<Member>[] = [
  {
    title: 'User',
    value: ({ user }) => user.name,
    cell: ({ user }) => <span className="settings-main">{user.name}</span>,
  },
  {
    title: 'Project',
    value: ({ membership }) => membership?.project.name ?? null,
    cell: ({ membership }) => membership?.project.name ?? 'in no project',
  },
  {
    title: 'Role',
    value: ({ membership }) => membership?.role ?? null,
    cell: ({ membership }) => membership?.role.toLowerCase() ?? null,
  },
]
