import { getRouteApi } from '@tanstack/react-router'
import { useId, useState } from 'react'
import { useAct } from '../../app/act.ts'
import { GuardedButton } from '../../app/guarded-button.tsx'
import { lazyDialog } from '../../app/lazy-part.tsx'
import { useList } from '../../app/list/list-page.tsx'
import { noAdministration, useViewer } from '../../app/viewer.ts'
import type { Column } from '../../design/table.tsx'
import { Foot, Part, Rows, Section } from './section.tsx'
import { UiProjectsDocument, type UiProjectsQuery, UiUpdateProjectDocument } from './settings.generated.ts'

const EVERY_MS = 5_000
const ROWS = 100
const route = getRouteApi('/frame/settings/projects')

type Project = UiProjectsQuery['projects']['edges'][number]['node']

const RulesForm = lazyDialog(() => import('./failure-rules-form.tsx'), 'RulesForm')

/** The settings of each project. */
export function ProjectsSection() {
  const { dropped, project } = route.useSearch()
  const list = useList(UiProjectsDocument, { first: ROWS }, ({ projects }) => projects, EVERY_MS)
  const refusal = noAdministration(useViewer(), 'PROJECT')
  const [changed, setChanged] = useState<Project | null>(null)
  const rows = list.rows.filter(({ name }) => project === undefined || name === project)
  return (
    <Section says="What holds for all members of a project." dropped={dropped}>
      <Part read={list}>
        {() => (
          <Rows
            label="Projects"
            className="settings-projects"
            columns={COLUMNS}
            rows={rows.map((row) => ({ ...row, again: list.again }))}
            renderActs={(row) => (
              <GuardedButton
                kind="quiet"
                refusal={refusal}
                aria-label={`Rules for failures of ${row.name}`}
                onClick={() => setChanged(row)}
              >
                Rules for failures… {row.failureRules.length > 0 && row.failureRules.length}
              </GuardedButton>
            )}
            empty={<h2>{project === undefined ? 'No projects' : `There is no project ${project}`}</h2>}
          />
        )}
      </Part>
      <Foot list={list} />
      {changed && (
        <RulesForm
          project={changed}
          onClose={() => setChanged(null)}
          onDone={() => {
            setChanged(null)
            list.again()
          }}
        />
      )}
    </Section>
  )
}

const COLUMNS: readonly Column<Project & { again: () => void }>[] = [
  { title: 'Project', cell: ({ name }) => <span className="settings-main">{name}</span> },
  { title: 'Domain', isNamed: true, cell: ({ domain }) => domain },
  { title: 'Members', cell: (project) => <MembersEndAll {...project} /> },
]

/** The switch that lets members end the work of others. */
function MembersEndAll({ name, membersEndAll, again }: Project & { again: () => void }) {
  const { can, role } = useViewer()
  const act = useAct()
  const note = useId()
  const [isBusy, setBusy] = useState(false)
  const refusal = can.administer ? null : `Your token has the role ${role}: this needs ADMIN.`
  const change = async (isAllowed: boolean) => {
    setBusy(true)
    const words = {
      about: name,
      done: `Members of ${name} end ${isAllowed ? 'the work of others, too' : 'their own work only'}.`,
    }
    await act(UiUpdateProjectDocument, { input: { name, membersEndAll: isAllowed } }, words)
    setBusy(false)
    again()
  }
  return (
    <label className="settings-switch" title={refusal ?? undefined}>
      <input
        type="checkbox"
        role="switch"
        aria-checked={membersEndAll}
        checked={membersEndAll}
        disabled={isBusy || refusal !== null}
        aria-label={`Members of ${name} may end the work of others`}
        aria-describedby={note}
        onChange={({ target }) => void change(target.checked)}
      />
      <span id={note}>may end the work of others: terminate, cancel retries, destroy deployments</span>
    </label>
  )
}
