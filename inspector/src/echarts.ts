// The parts of ECharts that the pages use, in a file of their own: lists are there before charts are loaded.
import { BarChart, LineChart, ScatterChart, TreemapChart } from "echarts/charts";
import { DataZoomComponent, GridComponent, TooltipComponent } from "echarts/components";
import { init, use, type EChartsCoreOption, type EChartsType } from "echarts/core";
import { CanvasRenderer } from "echarts/renderers";

use([
  BarChart,
  LineChart,
  ScatterChart,
  TreemapChart,
  GridComponent,
  TooltipComponent,
  DataZoomComponent,
  CanvasRenderer,
]);

export { init, type EChartsCoreOption, type EChartsType };
