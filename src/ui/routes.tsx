import { createRootRoute, createRoute, createRouter, redirect } from '@tanstack/react-router'
import { Frame } from './app/frame/frame.tsx'
import { lazyPage, PageFailed } from './app/lazy-part.tsx'
import { searchReader } from './app/list/search.ts'
import { NotFound } from './app/page.tsx'
import { readChainSearch } from './pages/chain/chain-search.ts'
import { readPolicySearch } from './pages/policy/policy-search.ts'

const root = createRootRoute({ notFoundComponent: NotFound })

const login = createRoute({
  getParentRoute: () => root,
  path: '/login',
  validateSearch: readLoginSearch,
  component: lazyPage(() => import('./pages/login-page.tsx'), 'LoginPage'),
})

const frame = createRoute({ getParentRoute: () => root, id: 'frame', component: Frame })

const overview = createRoute({
  getParentRoute: () => frame,
  path: '/',
  validateSearch: searchReader('overview'),
  component: lazyPage(() => import('./pages/overview/overview-page.tsx'), 'OverviewPage'),
})

const chains = createRoute({
  getParentRoute: () => frame,
  path: '/chains',
  validateSearch: searchReader('chains'),
  component: lazyPage(() => import('./pages/chains/chains-page.tsx'), 'ChainsPage'),
})

const chain = createRoute({
  getParentRoute: () => frame,
  path: '/chains/$chainId',
  validateSearch: readChainSearch,
  component: lazyPage(() => import('./pages/chain/chain-page.tsx'), 'ChainPage'),
})

const policy = createRoute({
  getParentRoute: () => frame,
  path: '/policy',
  validateSearch: readPolicySearch,
  component: lazyPage(() => import('./pages/policy/policy-page.tsx'), 'PolicyPage'),
})

const retries = createRoute({
  getParentRoute: () => frame,
  path: '/retries',
  validateSearch: searchReader('retries'),
  component: lazyPage(() => import('./pages/retries/retries-page.tsx'), 'RetriesPage'),
})

const failures = createRoute({
  getParentRoute: () => frame,
  path: '/failures',
  validateSearch: searchReader('failures'),
  component: lazyPage(() => import('./pages/failures/failures-page.tsx'), 'FailuresPage'),
})

const failure = createRoute({
  getParentRoute: () => frame,
  path: '/failures/$failureGroupId',
  validateSearch: searchReader('failure'),
  component: lazyPage(() => import('./pages/failures/failure-page.tsx'), 'FailurePage'),
})

const compare = createRoute({
  getParentRoute: () => frame,
  path: '/compare/$leftId/$rightId',
  component: lazyPage(() => import('./pages/compare/compare-page.tsx'), 'ComparePage'),
})

const queue = createRoute({
  getParentRoute: () => frame,
  path: '/queue',
  validateSearch: searchReader('queue'),
  component: lazyPage(() => import('./pages/queue/queue-page.tsx'), 'QueuePage'),
})

const advice = createRoute({
  getParentRoute: () => frame,
  path: '/advice',
  validateSearch: searchReader('advice'),
  component: lazyPage(() => import('./pages/advice/advice-page.tsx'), 'AdvicePage'),
})

const insights = createRoute({
  getParentRoute: () => frame,
  path: '/insights',
  validateSearch: searchReader('insights'),
  component: lazyPage(() => import('./pages/insights/insights-page.tsx'), 'InsightsPage'),
})

const usage = createRoute({
  getParentRoute: () => frame,
  path: '/usage',
  validateSearch: searchReader('usage'),
  component: lazyPage(() => import('./pages/insights/usage-page.tsx'), 'UsagePage'),
})

const agents = createRoute({
  getParentRoute: () => frame,
  path: '/agents',
  validateSearch: searchReader('agents'),
  component: lazyPage(() => import('./pages/agents/agents-page.tsx'), 'AgentsPage'),
})

const agent = createRoute({
  getParentRoute: () => frame,
  path: '/agents/$agentId',
  component: lazyPage(() => import('./pages/agents/agent-page.tsx'), 'AgentPage'),
})

const deployments = createRoute({
  getParentRoute: () => frame,
  path: '/deployments',
  validateSearch: searchReader('deployments'),
  component: lazyPage(() => import('./pages/deployments/deployments-page.tsx'), 'DeploymentsPage'),
})

const deployment = createRoute({
  getParentRoute: () => frame,
  path: '/deployments/$deploymentId',
  component: lazyPage(() => import('./pages/deployments/deployment-page.tsx'), 'DeploymentPage'),
})

const schedules = createRoute({
  getParentRoute: () => frame,
  path: '/schedules',
  validateSearch: searchReader('schedules'),
  component: lazyPage(() => import('./pages/schedules/schedules-page.tsx'), 'SchedulesPage'),
})

const newSchedule = createRoute({
  getParentRoute: () => frame,
  path: '/schedules/new',
  validateSearch: searchReader('newSession'),
  component: lazyPage(() => import('./pages/new-session/new-session-page.tsx'), 'NewSchedulePage'),
})

const schedule = createRoute({
  getParentRoute: () => frame,
  path: '/schedules/$scheduleId',
  component: lazyPage(() => import('./pages/schedules/schedule-page.tsx'), 'SchedulePage'),
})

const editSchedule = createRoute({
  getParentRoute: () => frame,
  path: '/schedules/$scheduleId/edit',
  component: lazyPage(() => import('./pages/new-session/new-session-page.tsx'), 'EditSchedulePage'),
})

const groups = createRoute({
  getParentRoute: () => frame,
  path: '/groups',
  validateSearch: searchReader('groups'),
  component: lazyPage(() => import('./pages/groups/groups-page.tsx'), 'GroupsPage'),
})

const group = createRoute({
  getParentRoute: () => frame,
  path: '/groups/$groupId',
  validateSearch: searchReader('group'),
  component: lazyPage(() => import('./pages/groups/group-page.tsx'), 'GroupPage'),
})

const member = createRoute({
  getParentRoute: () => frame,
  path: '/groups/$groupId/$index',
  component: lazyPage(() => import('./pages/groups/group-page.tsx'), 'MemberPage'),
})

const sessions = createRoute({
  getParentRoute: () => frame,
  path: '/sessions',
  validateSearch: searchReader('sessions'),
  component: lazyPage(() => import('./pages/sessions/sessions-page.tsx'), 'SessionsPage'),
})

const session = createRoute({
  getParentRoute: () => frame,
  path: '/sessions/$sessionId',
  component: lazyPage(() => import('./pages/sessions/session-page.tsx'), 'SessionPage'),
})

const newSession = createRoute({
  getParentRoute: () => frame,
  path: '/chains/new',
  validateSearch: searchReader('newSession'),
  component: lazyPage(() => import('./pages/new-session/new-session-page.tsx'), 'NewSessionPage'),
})

const bulkActions = createRoute({
  getParentRoute: () => frame,
  path: '/bulk-actions',
  validateSearch: searchReader('bulkActions'),
  component: lazyPage(() => import('./pages/bulk-actions/bulk-actions-page.tsx'), 'BulkActionsPage'),
})

const bulkAction = createRoute({
  getParentRoute: () => frame,
  path: '/bulk-actions/$bulkActionId',
  validateSearch: searchReader('bulkAction'),
  component: lazyPage(() => import('./pages/bulk-actions/bulk-action-page.tsx'), 'BulkActionPage'),
})

/** The former addresses of bulk actions. */
const resubmissions = createRoute({
  getParentRoute: () => frame,
  path: '/resubmissions',
  validateSearch: searchReader('bulkActions'),
  beforeLoad: ({ search }) => redirect({ to: '/bulk-actions', search, replace: true, throw: true }),
})

const resubmission = createRoute({
  getParentRoute: () => frame,
  path: '/resubmissions/$bulkActionId',
  validateSearch: searchReader('bulkAction'),
  beforeLoad: ({ params, search }) =>
    redirect({ to: '/bulk-actions/$bulkActionId', params, search, replace: true, throw: true }),
})

const readSettingsSearch = searchReader('settings')

const settings = createRoute({
  getParentRoute: () => frame,
  path: '/settings',
  component: lazyPage(() => import('./pages/settings/settings-page.tsx'), 'SettingsPage'),
})

const settingsStart = createRoute({
  getParentRoute: () => settings,
  path: '/',
  validateSearch: readSettingsSearch,
  beforeLoad: ({ search: { project } }) =>
    redirect({ to: '/settings/switches', search: { project }, replace: true, throw: true }),
})

const switchesSection = createRoute({
  getParentRoute: () => settings,
  path: 'switches',
  validateSearch: readSettingsSearch,
  component: lazyPage(() => import('./pages/settings/switches-section.tsx'), 'SwitchesSection'),
})

const defaultsSection = createRoute({
  getParentRoute: () => settings,
  path: 'defaults',
  validateSearch: readSettingsSearch,
  component: lazyPage(() => import('./pages/settings/defaults-section.tsx'), 'DefaultsSection'),
})

const quotasSection = createRoute({
  getParentRoute: () => settings,
  path: 'quotas',
  validateSearch: readSettingsSearch,
  component: lazyPage(() => import('./pages/settings/quotas-section.tsx'), 'QuotasSection'),
})

const webhooksSection = createRoute({
  getParentRoute: () => settings,
  path: 'webhooks',
  validateSearch: readSettingsSearch,
  component: lazyPage(() => import('./pages/settings/webhooks-section.tsx'), 'WebhooksSection'),
})

const webhookSection = createRoute({
  getParentRoute: () => settings,
  path: 'webhooks/$webhookId',
  validateSearch: searchReader('webhook'),
  component: lazyPage(() => import('./pages/settings/webhook-section.tsx'), 'WebhookSection'),
})

const projectsSection = createRoute({
  getParentRoute: () => settings,
  path: 'projects',
  validateSearch: readSettingsSearch,
  component: lazyPage(() => import('./pages/settings/projects-section.tsx'), 'ProjectsSection'),
})

const membersSection = createRoute({
  getParentRoute: () => settings,
  path: 'members',
  validateSearch: readSettingsSearch,
  component: lazyPage(() => import('./pages/settings/members-section.tsx'), 'MembersSection'),
})

const tokensSection = createRoute({
  getParentRoute: () => settings,
  path: 'tokens',
  validateSearch: searchReader('tokens'),
  component: lazyPage(() => import('./pages/settings/tokens-section.tsx'), 'TokensSection'),
})

const auditSection = createRoute({
  getParentRoute: () => settings,
  path: 'audit',
  validateSearch: searchReader('audit'),
  component: lazyPage(() => import('./pages/settings/audit-section.tsx'), 'AuditSection'),
})

/** Any other path. */
const unknown = createRoute({ getParentRoute: () => frame, path: '$', component: NotFound })

/**
 * The path to open after the login, which must be a path of this server. Any other value is set to undefined, as the
 * router keeps missing parameters.
 */
function readLoginSearch({ to }: Record<string, unknown>): { to?: string } {
  const isPath = typeof to === 'string' && /^\/(?![/\\])/.test(to) && !to.startsWith('/login')
  return { to: isPath ? to : undefined }
}

export const router = createRouter({
  routeTree: root.addChildren([
    login,
    frame.addChildren([
      overview,
      chains,
      chain,
      newSession,
      retries,
      failures,
      failure,
      compare,
      queue,
      advice,
      insights,
      usage,
      agents,
      agent,
      deployments,
      deployment,
      schedules,
      newSchedule,
      schedule,
      editSchedule,
      groups,
      group,
      member,
      sessions,
      session,
      bulkActions,
      bulkAction,
      resubmissions,
      resubmission,
      policy,
      settings.addChildren([
        settingsStart,
        switchesSection,
        defaultsSection,
        quotasSection,
        webhooksSection,
        webhookSection,
        projectsSection,
        membersSection,
        tokensSection,
        auditSection,
      ]),
      unknown,
    ]),
  ]),
  defaultPreload: 'intent',
  defaultErrorComponent: PageFailed,
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}
