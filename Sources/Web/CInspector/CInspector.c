int inspector_x;
